// Decides which thread runs on which core of the simulated machine. The machine tells its scheduler
// what happens to threads, and asks it which of them to put on a core next (Machine::schedule).
// There are three:
//   - first_come: one queue for all cores, first come, first served. A runnable thread gets an idle
//     core (its last one if possible); otherwise the core whose thread has run longest, if that is
//     at least `granularity_ns`; otherwise it queues.
//   - fair: one queue for all cores; the thread that has had least CPU time for its weight is next
//     (fair_scheduler.h).
//   - per_core: a queue for each core, as in Linux (per_core_scheduler.h).
//
// Invariant: a runnable thread that is on no core is in exactly one queue.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "tests/sim/thread.h"

namespace causalctl::sim {

struct Core {
  Thread* thread = nullptr;
  Nanoseconds since_ns = 0;  // up to here its thread's CPU time is counted; may lie in the future
  Nanoseconds run_since_ns = 0;
  Nanoseconds slice_end_ns = 0;
  Nanoseconds stolen_until_ns = 0;
  bool stolen = false;  // another program has it, and its thread continues afterwards
  std::uint64_t version = 0;
};

class Cores {
 public:
  explicit Cores(unsigned count) : all_(count) {}
  std::size_t size() const { return all_.size(); }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  Core& operator[](std::size_t index) { return all_[index]; }
  const Core& operator[](std::size_t index) const { return all_[index]; }
  std::uint32_t index_of(const Core& core) const {
    return static_cast<std::uint32_t>(&core - all_.data());
  }
  bool has_idle() const { return busy < all_.size(); }

  unsigned busy = 0;  // number of cores with a thread

 private:
  std::vector<Core> all_;
};

enum class Sharing : std::uint8_t { first_come, fair, per_core };

struct SchedulerOptions {
  Sharing sharing = Sharing::first_come;
  Nanoseconds slice_ns = 3 * kMillisecond;
  Nanoseconds granularity_ns = kMillisecond;  // limits preemption by wake-ups (see the schedulers)
  // With per_core, a thread that left a core more recently than this is not pulled to another one.
  Nanoseconds migration_cost_ns = kMillisecond / 2;
  Nanoseconds sleeper_ns = 0;  // fair: by how much a thread that slept may lag behind the others
};

class Scheduler {
 public:
  Scheduler(const Cores& cores, const SchedulerOptions& options)
      : cores_(cores), options_(options) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  // The thread is new, or has been woken on core `by`.
  virtual void woken(Thread& thread, std::uint32_t by, Nanoseconds now_ns) = 0;
  // Its core was taken away although it could continue.
  virtual void preempted(Thread& thread, Nanoseconds now_ns) = 0;
  // It is still on its core but about to leave it.
  virtual void blocking(Thread& /*thread*/, Nanoseconds /*now_ns*/) {}
  virtual void ending(Thread& /*thread*/, Nanoseconds /*now_ns*/) {}
  // The thread may not run, whether it is in a queue or not, until it is resumed.
  virtual void withdraw(Thread& thread, Nanoseconds now_ns) = 0;
  virtual void resumed(Thread& thread, Nanoseconds now_ns) = 0;

  struct Placement {
    Thread* thread;
    std::uint32_t core;  // an idle core, or one whose thread has to make room
  };
  // Takes the next thread that must get a core off its queue, or returns nullopt if there is none.
  // The caller puts it on the core before the next call.
  virtual std::optional<Placement> next(Nanoseconds now_ns) = 0;
  // Returns the rest of the thread's time slice when it gets its core or begins another slice.
  virtual Nanoseconds slice_of(const Thread& /*thread*/) const { return options_.slice_ns; }
  // Called when the slice of the core's thread is over. Returns false if the thread may begin
  // another one.
  virtual bool makes_room(const Core& core, Nanoseconds now_ns) = 0;
  // The machine calls tick() once in this time; 0: never.
  virtual Nanoseconds tick_ns() const { return 0; }
  virtual void tick(Nanoseconds /*now_ns*/) {}

 protected:
  // Returns the core where the thread ran last, if idle, or another idle one; null if there is
  // none.
  const Core* idle_core_for(const Thread& thread) const;
  const Cores& cores() const { return cores_; }
  const SchedulerOptions& options() const { return options_; }

 private:
  const Cores& cores_;
  SchedulerOptions options_;
};

class FirstComeScheduler final : public Scheduler {
 public:
  using Scheduler::Scheduler;

  void woken(Thread& thread, std::uint32_t by, Nanoseconds now_ns) override;
  void preempted(Thread& thread, Nanoseconds now_ns) override;
  void withdraw(Thread& thread, Nanoseconds now_ns) override;
  void resumed(Thread& thread, Nanoseconds now_ns) override { preempted(thread, now_ns); }
  std::optional<Placement> next(Nanoseconds now_ns) override;
  bool makes_room(const Core& /*core*/, Nanoseconds /*now_ns*/) override { return !queue_.empty(); }

 private:
  const Core* core_to_preempt(Nanoseconds now_ns) const;

  std::deque<Thread*> queue_;
  std::deque<Thread*> fresh_;  // woken, but not checked yet whether they may preempt
};

// `cores` must outlive it.
std::unique_ptr<Scheduler> make_scheduler(const Cores& cores, const SchedulerOptions& options);

}  // namespace causalctl::sim
