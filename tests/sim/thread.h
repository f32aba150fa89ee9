// A thread of the simulated program as the machine sees it, and what its code may do. The code is a
// coroutine: between two awaits no simulated time passes and no other thread runs.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>

#include "controller/base/types.h"
#include "tests/sim/task.h"

namespace causalctl::sim {

class Machine;

// A place in the simulated program, which reports call "sim.c:LINE".
using Line = std::uint32_t;
inline Address address_of(Line line) { return 0x1000 + 256 * Address{line}; }

inline constexpr Line kStubLine = 0;  // where samples of spinning pauses fall

inline constexpr Tid kFirstTid = 100;  // the others follow; no number is used twice

enum class State : std::uint8_t { runnable, running, blocked, ended };

// How much a thread has had of the cores, as fair schedulers count it. Virtual times are CPU times
// divided by the thread's weight.
struct Share {
  double virtual_ns(Nanoseconds cpu_ns) const { return static_cast<double>(cpu_ns) / weight; }

  double weight = 1;
  double vruntime_ns = 0;
  // These belong to a queue of one core (run_queue.h).
  double deadline_ns = 0;  // virtual: by then it is to have had its slice
  double lag_ns = 0;       // virtual: what it was owed when it left its queue
  bool delayed = false;    // it has blocked, but stays in its queue until it is owed nothing
  bool placed = false;     // it has been in a queue before
  Nanoseconds ran_until_ns = 0;
};

// The pause shot of a thread, and the slot that it shares with the controller
// (tracee/inject/slot.h).
struct Shot {
  enum class Stage : std::uint8_t { idle, armed, sleeping, spinning, left };
  bool in_stub() const { return stage == Stage::sleeping || stage == Stage::spinning; }
  Stage stage = Stage::idle;
  Nanoseconds armed_at_ns = 0;
  Nanoseconds stale_after_ns = 0;
  Nanoseconds fire_cpu_ns = 0;    // the shot fires at this CPU time of the thread
  Nanoseconds owed_total_ns = 0;  // as the controller wrote it
  Nanoseconds paid_total_ns = 0;  // a running total
  Nanoseconds entered_at_ns = 0;
  Nanoseconds paused_from_ns = 0;  // earlier time is in `paid_total_ns`
  Nanoseconds left_at_ns = 0;      // == entered_at_ns if void
};

class Thread {
 public:
  Thread(Machine& machine, ThreadId id) : machine_(machine), id_(id) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  struct Suspend {
    Thread& thread;
    bool ready = false;
    bool await_ready() const { return ready; }
    void await_suspend(std::coroutine_handle<> code) const { thread.code_ = code; }
    void await_resume() const {}
  };

  // Uses CPU time on `line`: `mean_ns`, varied as the machine's options say.
  Suspend compute(Line line, Nanoseconds mean_ns);
  Suspend spin(Line line);  // until Machine::stop_spinning
  Suspend block();          // until Machine::wake
  Suspend device_io(Nanoseconds length_ns);
  void visit(std::uint32_t tag);

  Machine& machine() const { return machine_; }
  ThreadId id() const { return id_; }
  State state() const { return state_; }
  Nanoseconds cpu_ns() const { return cpu_ns_; }
  std::uint32_t core() const { return core_; }  // where it runs, or ran last
  Share& share() { return share_; }
  const Share& share() const { return share_; }

 private:
  friend class Machine;

  Machine& machine_;
  ThreadId id_;
  State state_ = State::runnable;
  std::coroutine_handle<> code_;  // the innermost coroutine, to be resumed
  Line line_ = 0;
  Nanoseconds remaining_ns_ = 0;  // of the present compute()
  Nanoseconds cpu_ns_ = 0;
  std::uint32_t core_ = 0;
  Share share_;
  std::uint64_t timer_version_ = 0;
  bool foreign_ = false;
  bool seen_ = true;
  bool limited_ = false;  // true if its CPU time counts for the quota
  bool followed_ = false;
  std::optional<std::uint32_t> woken_by_;  // a core; the timer stands for the rest of that wake-up

  // Sampling by a perf task-clock event.
  Nanoseconds period_ns_ = 0;
  Nanoseconds next_sample_cpu_ns_ = 0;
  Nanoseconds last_sample_cpu_ns_ = 0;
  bool sampled_ = false;  // since the period was last set

  Shot shot_;
};

}  // namespace causalctl::sim
