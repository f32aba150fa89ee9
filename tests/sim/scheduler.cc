#include "tests/sim/scheduler.h"

#include <algorithm>

#include "controller/base/error.h"
#include "tests/sim/fair_scheduler.h"
#include "tests/sim/per_core_scheduler.h"

namespace causalctl::sim {

const Core* Scheduler::idle_core_for(const Thread& thread) const {
  if (!cores_.has_idle()) return nullptr;
  const Core& last = cores_[thread.core()];
  if (last.thread == nullptr) return &last;
  for (const Core& core : cores_) {
    if (core.thread == nullptr) return &core;
  }
  return nullptr;
}

void FirstComeScheduler::woken(Thread& thread, std::uint32_t /*by*/, Nanoseconds /*now_ns*/) {
  queue_.push_back(&thread);
  fresh_.push_back(&thread);
}

void FirstComeScheduler::preempted(Thread& thread, Nanoseconds /*now_ns*/) {
  queue_.push_back(&thread);
}

void FirstComeScheduler::withdraw(Thread& thread, Nanoseconds /*now_ns*/) {
  std::erase(queue_, &thread);
}

const Core* FirstComeScheduler::core_to_preempt(Nanoseconds now_ns) const {
  const Core* longest = nullptr;
  for (const Core& core : cores()) {
    if (core.thread == nullptr || core.stolen) continue;
    if (longest == nullptr || core.run_since_ns < longest->run_since_ns) longest = &core;
  }
  if (longest == nullptr || now_ns - longest->run_since_ns < options().granularity_ns) {
    return nullptr;
  }
  return longest;
}

std::optional<Scheduler::Placement> FirstComeScheduler::next(Nanoseconds now_ns) {
  if (!queue_.empty() && cores().has_idle()) {
    Thread& first = *queue_.front();
    queue_.pop_front();
    return Placement{&first, cores().index_of(*idle_core_for(first))};
  }
  while (!fresh_.empty()) {
    Thread* thread = fresh_.front();
    fresh_.pop_front();
    const auto queued = std::find(queue_.rbegin(), queue_.rend(), thread);
    if (queued == queue_.rend()) continue;
    const Core* core = core_to_preempt(now_ns);
    if (core == nullptr) {
      fresh_.clear();
      break;
    }
    queue_.erase(std::next(queued).base());
    return Placement{thread, cores().index_of(*core)};
  }
  return std::nullopt;
}

std::unique_ptr<Scheduler> make_scheduler(const Cores& cores, const SchedulerOptions& options) {
  switch (options.sharing) {
    case Sharing::first_come:
      return std::make_unique<FirstComeScheduler>(cores, options);
    case Sharing::fair:
      return std::make_unique<FairScheduler>(cores, options);
    case Sharing::per_core:
      return std::make_unique<PerCoreScheduler>(cores, options);
  }
  INVARIANT(false);
}

}  // namespace causalctl::sim
