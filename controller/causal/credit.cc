#include "controller/causal/credit.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kShortestClass = 16 * kMicrosecond;  // each next one is twice as long

Nanoseconds scaled(double factor, Nanoseconds time_ns) {
  return static_cast<Nanoseconds>(factor * static_cast<double>(time_ns));
}

}  // namespace

void Credit::begin(double speedup, Nanoseconds smooth_below_ns, bool forget) {
  learning_ = true;
  speedup_ = speedup;
  smooth_below_ns_ = smooth_below_ns;
  for (auto& [tid, thread] : threads_) {
    thread.unit_ns = thread.pending_ns = 0;
    if (forget) thread.shares = {};
  }
}

std::size_t Credit::length_class(Nanoseconds cpu_ns) {
  const auto multiple = static_cast<std::uint64_t>(std::max<Nanoseconds>(cpu_ns, 0)) /
                        static_cast<std::uint64_t>(kShortestClass);
  return std::min<std::size_t>(std::bit_width(multiple), kLengths - 1);
}

Nanoseconds Credit::cpu_now(const Thread& thread, Nanoseconds now_ns) {
  return thread.cpu_ns +
         (thread.running ? std::max<Nanoseconds>(now_ns - thread.running_since_ns, 0) : 0);
}

Nanoseconds Credit::sampled_in_unit(Tid tid, Nanoseconds period_ns, Nanoseconds now_ns) {
  Thread& thread = threads_[tid];
  if (!thread.running) {  // its switch was before the first event
    thread.running = true;
    thread.running_since_ns = now_ns - period_ns;
  }
  thread.unit_ns += period_ns;
  thread.pending_ns += period_ns;
  if (cpu_now(thread, now_ns) <= smooth_below_ns_) return 0;
  return scaled(speedup_, std::exchange(thread.pending_ns, 0));
}

Nanoseconds Credit::close(Thread& thread, std::size_t end, Nanoseconds now_ns) {
  const Nanoseconds cpu_ns = cpu_now(thread, now_ns);
  Share& share = thread.shares[static_cast<std::size_t>(thread.began)][end][length_class(cpu_ns)];
  if (learning_) {
    share.unit_ns += thread.unit_ns;
    share.cpu_ns += cpu_ns;
  }
  Nanoseconds earned_ns = thread.pending_ns;
  if (cpu_ns <= smooth_below_ns_ && share.cpu_ns > 0) {
    const double expected = static_cast<double>(share.unit_ns) / static_cast<double>(share.cpu_ns);
    earned_ns = scaled(expected, cpu_ns);
  }
  thread.cpu_ns = thread.unit_ns = thread.pending_ns = 0;
  thread.running_since_ns = now_ns;
  return scaled(speedup_, earned_ns);
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

void Credit::left_core(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  thread.cpu_ns = cpu_now(thread, now_ns);
  thread.running = false;
}

void Credit::switched_in(Tid tid, Nanoseconds now_ns) {
  Thread& thread = threads_[tid];
  thread.running = true;
  thread.running_since_ns = now_ns;
}

}  // namespace causalctl::causal
