#include "tests/sim/run_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "controller/base/error.h"
#include "tests/sim/fair_scheduler.h"

namespace causalctl::sim {
namespace {

constexpr double kRounding = 0.01;  // ns; virtual times that differ by less count as equal

}  // namespace

unsigned RunQueue::runnable() const {
  unsigned count = core_->thread != nullptr ? 1 : 0;
  for (const Thread* each : queue_) count += each->share().delayed ? 0 : 1;
  return count;
}

double RunQueue::load() const {
  double sum = core_->thread != nullptr ? core_->thread->share().weight : 0;
  for (const Thread* each : queue_) sum += each->share().delayed ? 0 : each->share().weight;
  return sum;
}

double RunQueue::virtual_time(Nanoseconds now_ns) const {
  // Relative to the last thread, because sums of absolute times are inexact.
  double ahead = 0, weights = 0;
  const auto count = [&](const Share& share, double vruntime_ns) {
    ahead += share.weight * (vruntime_ns - virtual_time_ns_);
    weights += share.weight;
  };
  if (core_->thread != nullptr) count(core_->thread->share(), vruntime_on(*core_, now_ns));
  for (const Thread* each : queue_) count(each->share(), each->share().vruntime_ns);
  return weights > 0 ? virtual_time_ns_ + ahead / weights : virtual_time_ns_;
}

// The bounds are those of update_entity_lag.
double RunQueue::lag_of(const Share& share) const {
  const double most_ns = share.virtual_ns(2 * slice_ns_);
  return std::clamp(virtual_time_ns_ - share.vruntime_ns, -most_ns, most_ns);
}

void RunQueue::place(Thread& thread, double request_ns) {
  Share& share = thread.share();
  double others = 0;
  if (core_->thread != nullptr) others += core_->thread->share().weight;
  for (const Thread* each : queue_) others += each->share().weight;
  // By arriving the thread moves V, but its lag must be the same afterwards.
  const double lag_ns = others > 0 ? share.lag_ns * (others + share.weight) / others : 0;
  share.vruntime_ns = virtual_time_ns_ - lag_ns;
  share.deadline_ns = share.vruntime_ns + request_ns;
  queue_.push_back(&thread);
}

void RunQueue::add(Thread& thread, Nanoseconds now_ns) {
  virtual_time_ns_ = virtual_time(now_ns);
  Share& share = thread.share();
  const double slice_ns = share.virtual_ns(slice_ns_);
  // A new thread begins with half a slice (PLACE_DEADLINE_INITIAL).
  place(thread, std::exchange(share.placed, true) ? slice_ns : slice_ns / 2);
}

void RunQueue::receive(Thread& thread, Nanoseconds now_ns) {
  virtual_time_ns_ = virtual_time(now_ns);
  // It keeps the rest of its slice (PLACE_REL_DEADLINE).
  place(thread, thread.share().deadline_ns - thread.share().vruntime_ns);
}

void RunQueue::wake_delayed(Thread& thread, Nanoseconds now_ns) {
  virtual_time_ns_ = virtual_time(now_ns);
  Share& share = thread.share();
  INVARIANT(share.delayed);
  share.delayed = false;
  if (share.vruntime_ns >= virtual_time_ns_) return;
  take(&thread);
  share.lag_ns = 0;  // it is owed nothing for the time it slept
  place(thread, share.virtual_ns(slice_ns_));
}

void RunQueue::put_back(Thread& thread, Nanoseconds now_ns) {
  thread.share().ran_until_ns = now_ns;
  queue_.push_back(&thread);
}

void RunQueue::block(Thread& thread, Nanoseconds now_ns) {
  virtual_time_ns_ = virtual_time(now_ns);
  Share& share = thread.share();
  share.ran_until_ns = now_ns;
  share.lag_ns = lag_of(share);
  if (share.lag_ns >= -kRounding) return;
  share.delayed = true;
  queue_.push_back(&thread);
}

void RunQueue::end(Nanoseconds now_ns) { virtual_time_ns_ = virtual_time(now_ns); }

Thread* RunQueue::earliest(double no_later_than_ns) const {
  Thread* first = nullptr;
  for (Thread* each : queue_) {
    const Share& share = each->share();
    if (share.vruntime_ns > virtual_time_ns_ + kRounding) continue;
    if (share.deadline_ns > no_later_than_ns + kRounding) continue;
    if (first == nullptr || share.deadline_ns < first->share().deadline_ns) first = each;
  }
  return first;
}

Thread* RunQueue::take(Thread* thread) {
  std::erase(queue_, thread);
  return thread;
}

// Finds a thread in the queue, or null if the core's thread may go on, or there is none. `protects`
// means that the core's thread may run until it has had its slice, if it is eligible. Delayed
// threads whose turn comes are let go on the way.
Thread* RunQueue::due(Nanoseconds now_ns, bool protects) {
  for (;;) {
    virtual_time_ns_ = virtual_time(now_ns);
    double no_later_than_ns = std::numeric_limits<double>::infinity();
    if (core_->thread != nullptr) {
      const double vruntime_ns = vruntime_on(*core_, now_ns);
      const double deadline_ns = core_->thread->share().deadline_ns;
      if (vruntime_ns <= virtual_time_ns_ + kRounding) {
        if (protects && vruntime_ns < deadline_ns - kRounding) return nullptr;
        no_later_than_ns = deadline_ns;
      }
    }
    Thread* first = earliest(no_later_than_ns);
    if (first == nullptr || !first->share().delayed) return first;
    take(first);
    first->share().delayed = false;
    first->share().lag_ns = 0;
  }
}

Thread* RunQueue::take_next(Nanoseconds now_ns) {
  INVARIANT(core_->thread == nullptr);
  return take(due(now_ns, false));
}

Thread* RunQueue::take_preempting(Nanoseconds now_ns) {
  INVARIANT(core_->thread != nullptr);
  return take(due(now_ns, true));
}

Thread* RunQueue::take_away(double most, Nanoseconds cold_ns, Nanoseconds now_ns) {
  for (Thread* each : queue_) {
    Share& share = each->share();
    if (share.delayed || share.weight > most) continue;
    if (share.ran_until_ns > 0 && now_ns - share.ran_until_ns < cold_ns) continue;
    virtual_time_ns_ = virtual_time(now_ns);
    share.lag_ns = lag_of(share);
    return take(each);
  }
  return nullptr;
}

void RunQueue::withdraw(Thread& thread, Nanoseconds now_ns) {
  if (std::find(queue_.begin(), queue_.end(), &thread) == queue_.end()) return;
  virtual_time_ns_ = virtual_time(now_ns);
  thread.share().lag_ns = lag_of(thread.share());
  thread.share().delayed = false;
  take(&thread);
}

Nanoseconds RunQueue::slice_of(const Thread& thread) const {
  const Share& share = thread.share();
  const double left_ns = (share.deadline_ns - share.vruntime_ns) * share.weight;
  const auto rounded_ns = static_cast<Nanoseconds>(std::ceil(left_ns - kRounding));
  return std::clamp<Nanoseconds>(rounded_ns, kMicrosecond, slice_ns_);
}

bool RunQueue::makes_room(Nanoseconds now_ns) {
  Share& share = core_->thread->share();
  if (vruntime_on(*core_, now_ns) < share.deadline_ns - kRounding) return false;
  share.deadline_ns = vruntime_on(*core_, now_ns) + share.virtual_ns(slice_ns_);
  return due(now_ns, false) != nullptr;
}

}  // namespace causalctl::sim
