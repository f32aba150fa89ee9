#include "tests/sim/per_core_scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace causalctl::sim {
namespace {

constexpr double kAnyWeight = std::numeric_limits<double>::infinity();
// sd->imbalance_pct is 117. Waking compares with half of the excess over 100, balancing with all of
// it.
constexpr double kWakeBias = 1.08;
constexpr double kImbalance = 1.17;
constexpr unsigned kTriesForWarm = 1;  // sd->cache_nice_tries

}  // namespace

PerCoreScheduler::PerCoreScheduler(const Cores& cores, const SchedulerOptions& options)
    : Scheduler(cores, options) {
  for (const Core& core : cores) per_core_.emplace_back(RunQueue(core, options.slice_ns));
}

std::uint32_t PerCoreScheduler::least_loaded() const {
  const auto least = std::min_element(
      per_core_.begin(), per_core_.end(),
      [](const PerCore& a, const PerCore& b) { return a.queue.load() < b.queue.load(); });
  return static_cast<std::uint32_t>(least - per_core_.begin());
}

std::uint32_t PerCoreScheduler::idle_core_near(std::uint32_t target) const {
  if (per_core_[target].queue.idle()) return target;
  for (std::uint32_t step = 1; step < per_core_.size(); ++step) {
    const auto each = static_cast<std::uint32_t>((target + step) % per_core_.size());
    if (per_core_[each].queue.idle()) return each;
  }
  return target;
}

std::uint32_t PerCoreScheduler::core_for(const Thread& thread, std::uint32_t by) const {
  if (!thread.share().placed) return least_loaded();
  const std::uint32_t last = thread.core();
  const double loads = per_core_[by].queue.load() + thread.share().weight;
  const bool moves = loads < kWakeBias * per_core_[last].queue.load();
  return idle_core_near(moves && !per_core_[last].queue.idle() ? by : last);
}

void PerCoreScheduler::woken(Thread& thread, std::uint32_t by, Nanoseconds now_ns) {
  const bool delayed = thread.share().delayed;
  const std::uint32_t core = delayed ? thread.core() : core_for(thread, by);
  if (delayed) {
    per_core_[core].queue.wake_delayed(thread, now_ns);
  } else {
    per_core_[core].queue.add(thread, now_ns);
  }
  per_core_[core].changed = true;
}

void PerCoreScheduler::preempted(Thread& thread, Nanoseconds now_ns) {
  per_core_[thread.core()].queue.put_back(thread, now_ns);
  per_core_[thread.core()].looks = true;
}

void PerCoreScheduler::blocking(Thread& thread, Nanoseconds now_ns) {
  per_core_[thread.core()].queue.block(thread, now_ns);
  per_core_[thread.core()].looks = true;
}

void PerCoreScheduler::ending(Thread& thread, Nanoseconds now_ns) {
  per_core_[thread.core()].queue.end(now_ns);
  per_core_[thread.core()].looks = true;
}

void PerCoreScheduler::withdraw(Thread& thread, Nanoseconds now_ns) {
  for (PerCore& each : per_core_) each.queue.withdraw(thread, now_ns);
}

void PerCoreScheduler::resumed(Thread& thread, Nanoseconds now_ns) {
  const std::uint32_t core = thread.share().placed ? thread.core() : least_loaded();
  per_core_[core].queue.add(thread, now_ns);
}

std::optional<Scheduler::Placement> PerCoreScheduler::next(Nanoseconds now_ns) {
  for (std::uint32_t index = 0; index < per_core_.size(); ++index) {
    PerCore& here = per_core_[index];
    const Core& core = cores()[index];
    Thread* thread = nullptr;
    if (core.thread == nullptr) {
      here.changed = false;
      thread = here.queue.take_next(now_ns);
      if (std::exchange(here.looks, false) && thread == nullptr) thread = pull(index, now_ns);
    } else if (!core.stolen && std::exchange(here.changed, false)) {
      thread = here.queue.take_preempting(now_ns);
    }
    if (thread != nullptr) return Placement{thread, index};
  }
  return std::nullopt;
}

Thread* PerCoreScheduler::pull(std::uint32_t to, Nanoseconds now_ns) {
  PerCore* busiest = nullptr;
  for (PerCore& each : per_core_) {
    if (each.queue.runnable() < 2) continue;
    if (busiest == nullptr || each.queue.runnable() > busiest->queue.runnable()) busiest = &each;
  }
  if (busiest == nullptr) return nullptr;
  Thread* thread = busiest->queue.take_away(kAnyWeight, options().migration_cost_ns, now_ns);
  if (thread == nullptr) return nullptr;
  per_core_[to].queue.receive(*thread, now_ns);
  return per_core_[to].queue.take_next(now_ns);
}

Nanoseconds PerCoreScheduler::slice_of(const Thread& thread) const {
  return per_core_[thread.core()].queue.slice_of(thread);
}

bool PerCoreScheduler::makes_room(const Core& core, Nanoseconds now_ns) {
  return per_core_[cores().index_of(core)].queue.makes_room(now_ns);
}

void PerCoreScheduler::tick(Nanoseconds now_ns) {
  for (std::uint32_t index = 0; index < per_core_.size(); ++index) {
    PerCore& here = per_core_[index];
    if (cores()[index].thread == nullptr) {
      here.looks = true;
    } else if (now_ns >= here.balance_at_ns) {
      here.balance_at_ns = now_ns + balance_ns();
      balance(index, now_ns);
    }
  }
}

// Balancing comes this often for each core (sd_init, get_sd_balance_interval of a busy core).
Nanoseconds PerCoreScheduler::balance_ns() const {
  return static_cast<Nanoseconds>(per_core_.size()) * 16 * kMillisecond;
}

double PerCoreScheduler::mean_load() const {
  double sum = 0;
  for (const PerCore& each : per_core_) sum += each.queue.load();
  return sum / static_cast<double>(per_core_.size());
}

// Returns null if no core has so large a load that this one should take some of it.
PerCoreScheduler::PerCore* PerCoreScheduler::busier_than(const PerCore& own) {
  PerCore* busiest = nullptr;
  for (PerCore& each : per_core_) {
    if (&each == &own || each.queue.runnable() < 2) continue;
    if (busiest == nullptr || each.queue.load() > busiest->queue.load()) busiest = &each;
  }
  if (busiest == nullptr || own.queue.load() >= mean_load()) return nullptr;
  const bool both_queue = own.queue.runnable() >= 2;
  const double least = own.queue.load() * (both_queue ? kImbalance : 1);
  return busiest->queue.load() > least ? busiest : nullptr;
}

void PerCoreScheduler::balance(std::uint32_t to, Nanoseconds now_ns) {
  PerCore& own = per_core_[to];
  PerCore* busiest = busier_than(own);
  if (busiest == nullptr) {
    own.failed = 0;
    return;
  }
  const double mean = mean_load();
  double imbalance = std::min(busiest->queue.load() - mean, mean - own.queue.load());
  const double most = std::ldexp(imbalance, static_cast<int>(own.failed));
  const Nanoseconds cold_ns = own.failed > kTriesForWarm ? 0 : options().migration_cost_ns;
  bool moved = false;
  while (imbalance > 0) {
    Thread* thread = busiest->queue.take_away(most, cold_ns, now_ns);
    if (thread == nullptr) break;
    own.queue.receive(*thread, now_ns);
    imbalance -= thread->share().weight;
    moved = own.changed = true;
  }
  own.failed = moved ? 0 : own.failed + 1;
}

}  // namespace causalctl::sim
