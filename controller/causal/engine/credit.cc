#include "controller/causal/engine/credit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "controller/base/error.h"

namespace causalctl::causal {
namespace {

// A thread with little CPU time of its own is taken to be like the others. This is the weight of
// the others: CPU time of an average thread, in units of the longest interval that is smoothed.
constexpr double kWeightOfOthers = 2;

// A sample this much CPU time ago counts 1/e of a present one in the unit's latest share.
constexpr double kOfLateNs = 300.0 * kMillisecond;

constexpr Nanoseconds kShortestClass = 16 * kMicrosecond;  // each following class is twice as long

}  // namespace

void Credit::begin(double speedup, Nanoseconds smooth_below_ns, bool forget) {
  learning_ = true;
  speedup_ = speedup;
  smooth_below_ns_ = smooth_below_ns;
  for (auto& [tid, thread] : threads_) {
    thread.unit_ns = thread.given_ns = 0;
    if (!forget) continue;
    thread.shares = {};
    thread.sampled_ns = thread.in_unit_ns = 0;
  }
  if (forget) all_threads_ = {};
}

double Credit::expected_share(const Share& own, const Share& all) const {
  INVARIANT(all.cpu_ns > 0);
  const auto weight = kWeightOfOthers * static_cast<double>(smooth_below_ns_);
  const double of_all = static_cast<double>(all.unit_ns) / static_cast<double>(all.cpu_ns);
  return (static_cast<double>(own.unit_ns) + weight * of_all) /
         (static_cast<double>(own.cpu_ns) + weight);
}

Nanoseconds Credit::give(Thread& thread, double due_ns) {
  const double more_ns = due_ns - static_cast<double>(thread.given_ns);
  thread.given_ns = static_cast<Nanoseconds>(due_ns);
  return static_cast<Nanoseconds>(speedup_ * more_ns);
}

std::size_t Credit::length_class(Nanoseconds cpu_ns) {
  const auto multiple = static_cast<std::uint64_t>(std::max<Nanoseconds>(cpu_ns, 0)) /
                        static_cast<std::uint64_t>(kShortestClass);
  return std::min<std::size_t>(std::bit_width(multiple), kLengths - 1);
}

Nanoseconds Credit::cpu_now(const Thread& thread, Nanoseconds now_ns) {
  const Nanoseconds running_ns =
      thread.running ? std::max<Nanoseconds>(now_ns - thread.running_since_ns, 0) : 0;
  return std::max<Nanoseconds>(thread.cpu_ns + running_ns, 0);
}

Nanoseconds Credit::sampled(Tid tid, bool in_unit, Nanoseconds period_ns, Nanoseconds now_ns) {
  Thread& thread = threads_[tid];
  if (!thread.running) {  // it was switched in before the first event
    thread.running = true;
    thread.running_since_ns = now_ns - period_ns;
  }
  if (learning_) {
    const auto sampled_ns = static_cast<double>(period_ns);
    const double kept = std::exp(-sampled_ns / kOfLateNs);
    thread.sampled_ns = kept * thread.sampled_ns + sampled_ns;
    thread.in_unit_ns = kept * thread.in_unit_ns + (in_unit ? sampled_ns : 0);
  }
  const Nanoseconds worth_ns = period_ns + std::exchange(thread.stolen_ns, 0);
  if (in_unit) thread.unit_ns += worth_ns;
  if (cpu_now(thread, now_ns) <= smooth_below_ns_) return 0;
  return give(thread, static_cast<double>(thread.unit_ns));
}

Nanoseconds Credit::close(Thread& thread, std::size_t end, Nanoseconds now_ns) {
  const Nanoseconds cpu_ns = cpu_now(thread, now_ns);
  const auto began = static_cast<std::size_t>(thread.began);
  Share& own = thread.shares[began][end][length_class(cpu_ns)];
  Share& all = all_threads_[began][end][length_class(cpu_ns)];
  if (learning_) {
    for (Share* share : {&own, &all}) {
      share->unit_ns += thread.unit_ns;
      share->cpu_ns += cpu_ns;
    }
  }
  auto due_ns = static_cast<double>(thread.unit_ns);
  if (cpu_ns <= smooth_below_ns_ && all.cpu_ns > 0) {
    due_ns = expected_share(own, all) * static_cast<double>(cpu_ns);
  }
  const Nanoseconds earned_ns = give(thread, due_ns);
  thread.cpu_ns = thread.unit_ns = thread.given_ns = 0;
  thread.running_since_ns = now_ns;
  return earned_ns;
}

Nanoseconds Credit::woke_another(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  const Nanoseconds earned_ns = close(found->second, 1, now_ns);
  found->second.began = Edge::woke;
  return earned_ns;
}

Nanoseconds Credit::blocked(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  const Nanoseconds earned_ns = close(found->second, 0, now_ns);
  found->second.began = Edge::woken;
  found->second.running = false;
  return earned_ns;
}

Nanoseconds Credit::left_core(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  Thread& thread = found->second;
  thread.cpu_ns = cpu_now(thread, now_ns);
  thread.running = false;
  return give(thread, static_cast<double>(thread.unit_ns));
}

Nanoseconds Credit::switched_in(Tid tid, Nanoseconds stolen_ns, Nanoseconds now_ns,
                                Nanoseconds kept_off_ns) {
  Thread& thread = threads_[tid];
  thread.running = true;
  thread.running_since_ns = now_ns - stolen_ns;
  thread.stolen_ns += stolen_ns;
  if (!learning_ || thread.sampled_ns <= 0) return 0;
  const auto waited_ns = static_cast<double>(std::max<Nanoseconds>(kept_off_ns - stolen_ns, 0));
  return static_cast<Nanoseconds>(speedup_ * waited_ns * thread.in_unit_ns / thread.sampled_ns);
}

void Credit::paused(Tid tid, Nanoseconds cpu_ns) {
  if (const auto found = threads_.find(tid); found != threads_.end()) {
    found->second.cpu_ns -= cpu_ns;
  }
}

}  // namespace causalctl::causal
