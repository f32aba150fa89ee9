#include "controller/callpath/engine/still_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/clock.h"
#include "unwind/stack/blocked_stack.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kReadAtOnce = 32;  // threads, so that no ring gets full meanwhile
constexpr Nanoseconds kReadBlockedFor = 2 * kSecond;
constexpr Nanoseconds kReadEvery = 20 * kMillisecond;  // at most; and
constexpr int kRest = 20;                              // times what the last reading has lasted

struct StackRead {
  ThreadId thread;
  Nanoseconds read_ns = 0;
  unwind::Chain chain;
};

}  // namespace

StillThreads::StillThreads(std::function<Stacks(ThreadId)> stacks_of, Recorder& recorder,
                           std::function<void()> drain)
    : stacks_of_(std::move(stacks_of)), recorder_(recorder), drain_(std::move(drain)) {}

// Events up to the reading are taken after it, so that a thread which has moved on is found out.
StillThreads::Placed StillThreads::place(std::span<const ThreadId> threads, MapsOf& maps) {
  std::vector<StackRead> reads;
  for (const ThreadId thread : threads) {
    const auto [process, unwinder] = stacks_of_(thread);
    if (unwinder == nullptr) continue;
    const auto [of_process, is_new] = maps.try_emplace(process);
    if (is_new) of_process->second = procfs::maps(process).value_or(std::vector<procfs::Map>());
    const Nanoseconds read_ns = monotonic_now();
    const auto blocked = unwind::read_blocked_stack(process, thread.tid, of_process->second);
    if (!blocked) continue;
    reads.push_back({thread, read_ns,
                     unwinder->unwind_chain(blocked->registers(), blocked->stack, kLongestChain)});
  }
  drain_();
  Placed placed;
  for (const StackRead& read : reads) {
    recorder_.stands_on(read.thread, read.chain, read.read_ns);
    ++placed.found;
    if (read.chain.complete()) ++placed.complete;
  }
  return placed;
}

void StillThreads::place_blocked(const std::vector<ThreadId>& threads,
                                 const std::function<bool()>& is_over, Recording& recording) {
  MapsOf maps;
  const Nanoseconds until_ns = monotonic_now() + kReadBlockedFor;
  Placed all;
  recording.account.threads_at_start = threads.size();
  not_read_ = {threads.begin(), threads.end()};
  for (std::size_t first = 0; first < threads.size() && !is_over() && monotonic_now() < until_ns;
       first += kReadAtOnce) {
    const std::size_t size = std::min(kReadAtOnce, threads.size() - first);
    const Placed placed = place(std::span(threads).subspan(first, size), maps);
    for (std::size_t i = first; i < first + size; ++i) not_read_.erase(threads[i]);
    all.found += placed.found;
    all.complete += placed.complete;
  }
  recording.account.stacks_not_read = not_read_.size();
  if (all.complete == all.found) return;
  recording.warnings.push_back(
      fmt::format("{} threads were blocked at the beginning, and the stacks of {} could be read "
                  "whole; the others lack their outermost callers until they run",
                  all.found, all.complete));
}

void StillThreads::place_some(Recording& recording) {
  const Nanoseconds begin_ns = monotonic_now();
  if (begin_ns < next_ns_) return;
  const std::vector<ThreadId> threads = recorder_.without_path(kReadAtOnce, begin_ns);
  if (!threads.empty()) {
    MapsOf maps;
    place(threads, maps);
    for (const ThreadId thread : threads) not_read_.erase(thread);
    recording.account.stacks_not_read = not_read_.size();
  }
  const Nanoseconds end_ns = monotonic_now();
  next_ns_ = end_ns + std::max(kReadEvery, kRest * (end_ns - begin_ns));
}

}  // namespace causalctl::callpath
