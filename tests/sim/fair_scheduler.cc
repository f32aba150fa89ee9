#include "tests/sim/fair_scheduler.h"

#include <algorithm>

namespace causalctl::sim {

double vruntime_on(const Core& core, Nanoseconds now_ns) {
  const Share& share = core.thread->share();
  return share.vruntime_ns + share.virtual_ns(std::max<Nanoseconds>(now_ns - core.since_ns, 0));
}

Thread* FairScheduler::least() const {
  const auto found = std::min_element(queue_.begin(), queue_.end(), [](Thread* a, Thread* b) {
    return a->share().vruntime_ns < b->share().vruntime_ns;
  });
  return found == queue_.end() ? nullptr : *found;
}

void FairScheduler::raise_floor(Nanoseconds now_ns) {
  std::optional<double> least_ns;
  const auto consider = [&least_ns](double vruntime_ns) {
    least_ns = std::min(least_ns.value_or(vruntime_ns), vruntime_ns);
  };
  for (const Core& core : cores()) {
    if (core.thread != nullptr) consider(vruntime_on(core, now_ns));
  }
  if (const Thread* first = least()) consider(first->share().vruntime_ns);
  floor_ns_ = std::max(floor_ns_, least_ns.value_or(0));
}

void FairScheduler::place(Thread& thread, Nanoseconds now_ns) {
  raise_floor(now_ns);
  double& vruntime_ns = thread.share().vruntime_ns;
  vruntime_ns = std::max(vruntime_ns, floor_ns_ - static_cast<double>(options().sleeper_ns));
  queue_.push_back(&thread);
}

void FairScheduler::woken(Thread& thread, std::uint32_t /*by*/, Nanoseconds now_ns) {
  place(thread, now_ns);
  fresh_.push_back(&thread);
}

void FairScheduler::withdraw(Thread& thread, Nanoseconds now_ns) {
  raise_floor(now_ns);
  std::erase(queue_, &thread);
}

void FairScheduler::resumed(Thread& thread, Nanoseconds now_ns) { place(thread, now_ns); }

void FairScheduler::preempted(Thread& thread, Nanoseconds /*now_ns*/) { queue_.push_back(&thread); }

// This holds while the thread is on its core: later there may be no thread left to tell how far the
// others have come.
void FairScheduler::blocking(Thread& /*thread*/, Nanoseconds now_ns) { raise_floor(now_ns); }
void FairScheduler::ending(Thread& /*thread*/, Nanoseconds now_ns) { raise_floor(now_ns); }

const Core* FairScheduler::furthest_ahead(Nanoseconds now_ns) const {
  const Core* furthest = nullptr;
  for (const Core& core : cores()) {
    if (core.thread == nullptr || core.stolen) continue;
    if (furthest == nullptr || vruntime_on(core, now_ns) > vruntime_on(*furthest, now_ns)) {
      furthest = &core;
    }
  }
  return furthest;
}

std::optional<Scheduler::Placement> FairScheduler::next(Nanoseconds now_ns) {
  Thread* first = least();
  if (first != nullptr && cores().has_idle()) {
    std::erase(queue_, first);
    return Placement{first, cores().index_of(*idle_core_for(*first))};
  }
  while (!fresh_.empty()) {
    Thread* thread = fresh_.front();
    fresh_.pop_front();
    const auto queued = std::find(queue_.begin(), queue_.end(), thread);
    const Core* core = furthest_ahead(now_ns);
    if (queued == queue_.end() || core == nullptr) continue;
    if (vruntime_on(*core, now_ns) - thread->share().vruntime_ns <
        static_cast<double>(options().granularity_ns)) {
      continue;
    }
    queue_.erase(queued);
    return Placement{thread, cores().index_of(*core)};
  }
  return std::nullopt;
}

bool FairScheduler::makes_room(const Core& core, Nanoseconds now_ns) {
  const Thread* first = least();
  return first != nullptr && first->share().vruntime_ns < vruntime_on(core, now_ns);
}

}  // namespace causalctl::sim
