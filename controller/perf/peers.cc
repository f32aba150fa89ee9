#include "controller/perf/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/translate.h"

namespace causalctl::perf {
namespace {

constexpr std::uint64_t kConversation = 20;  // wake-ups
constexpr std::size_t kMostCounted = 10'000;

// Of all peers: each costs a ring, and is read at each tick.
constexpr std::size_t kMostThreads = 256;
constexpr std::size_t kMostThreadsLocked = 16;  // without the right to lock memory
constexpr unsigned kRingPages = 64, kRingPagesLocked = 4;

// 0: it is gone, or a kernel thread.
Pid process_of(Tid tid) {
  constexpr std::uint64_t kernel_thread = 0x00200000;  // PF_KTHREAD
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", tid));
  const auto status = procfs::status(tid);
  if (!stat || !status || (procfs::parse_flags(*stat) & kernel_thread) != 0) return 0;
  return status->tgid;
}

}  // namespace

Peers::Peers(std::set<Pid> none, WakingFormat waking, bool may_lock)
    : none_(std::move(none)),
      waking_(waking),
      most_threads_(may_lock ? kMostThreads : kMostThreadsLocked) {
  plan_.sample = false;
  plan_.ring_pages = may_lock ? kRingPages : kRingPagesLocked;
}

void Peers::start(const perf_event_attr& waking) {
  plan_.waking = waking;
  plan_.running = true;
}

void Peers::woken(Tid tid) {
  if (plan_.running && tid > 0 && !threads_.contains(tid)) ++wakes_[tid];
}

std::uint64_t Peers::read(Merger& merger) {
  std::uint64_t lost = 0;
  for (auto& [tid, events] : threads_) {
    const ThreadId thread = events.thread();
    lost += events.read([&](const Record& record) {
      if (const auto* change = std::get_if<SwitchRecord>(&record)) {
        merger.push(
            SwitchEvent{thread, change->common.time_ns, change->common.cpu, switch_kind(*change)});
      } else if (const auto* sample = std::get_if<SampleRecord>(&record)) {
        const auto waking = parse_waking(sample->raw, waking_);
        if (waking) {
          merger.push(WakeEvent{thread, waking->woken, sample->common.time_ns, waking->context});
        }
      } else if (const auto* missing = std::get_if<LostRecord>(&record)) {
        lost += missing->count;
      }
    });
  }
  return lost;
}

void Peers::scan(Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger) {
  if (!plan_.running) return;
  find_processes();
  std::erase_if(threads_, [&](auto& entry) {
    if (!entry.second.ended()) return false;
    merger.push(ThreadExitEvent{entry.second.thread(), now_ns});
    return true;
  });
  for (const Pid process : std::set(processes_)) {
    const auto tids = procfs::threads(process);
    if (tids.empty()) processes_.erase(process);
    for (const Tid tid : tids) {
      if (!threads_.contains(tid) && processes_.contains(process)) {
        open(process, tid, now_ns, last_serial, merger);
      }
    }
  }
}

void Peers::find_processes() {
  if (wakes_.size() > kMostCounted) wakes_.clear();  // of a target that wakes ever new threads
  for (auto& [tid, count] : wakes_) {
    if (count < kConversation) continue;
    count = 0;
    const Pid process = process_of(tid);
    if (process == 0 || none_.contains(process) || !processes_.insert(process).second) continue;
    log::note("{} (process {}) exchanges wake-ups with the target: its switches are watched, too",
              procfs::status(process).value_or(procfs::Status{}).name, process);
  }
}

void Peers::open(Pid process, Tid tid, Nanoseconds now_ns, std::uint32_t& last_serial,
                 Merger& merger) {
  if (threads_.size() >= most_threads_) {
    return refuse(process, fmt::format("more than {} threads", most_threads_));
  }
  try {
    auto events = ThreadEvents::open({tid, last_serial + 1}, monotonic_now(), 0, plan_);
    if (!events) return;
    ++last_serial;
    // Asked when its events are open: who blocks later tells so by a record.
    const char state = procfs::parse_state(procfs::thread_stat(process, tid).value_or(""));
    merger.push(ThreadStartEvent{events->thread(), {}, now_ns, procfs::is_blocked(state), true});
    threads_.emplace(tid, std::move(*events));
  } catch (const Error& error) {
    refuse(process, error.hint().empty() ? error.what() : error.hint());
  }
}

void Peers::refuse(Pid process, std::string reason) {
  processes_.erase(process);
  none_.insert(process);
  reasons_.push_back(
      fmt::format("process {}, which the target exchanges wake-ups with, is not followed: {}",
                  process, std::move(reason)));
}

}  // namespace causalctl::perf
