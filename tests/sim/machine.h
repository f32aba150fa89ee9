// A machine with a multi-threaded program on it, simulated event by event. It emits the records
// that the kernel would emit (perf/events.h) and lets threads be paused as the sigtrap channel
// does. A Scheduler decides which thread runs where.
//
// A core's thread runs up to its next stop: the end of its computation, a sample, a shot, or the
// end of its slice. Each core has one event in the heap; an event that was superseded has an old
// version.
//
// Invariants: a thread is either on exactly one core, or in one run queue, or in one list of
// threads to be woken, or has one timer, or has ended. Times of emitted events never decrease. The
// same options and the same program give the same events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "controller/base/cpu_limits.h"
#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/thread.h"

namespace causalctl::sim {

struct MachineOptions {
  unsigned cores = 4;
  SchedulerOptions scheduling;
  Nanoseconds switch_ns = 2 * kMicrosecond;        // of a core, before the next thread gets it
  Nanoseconds wake_ns = 0;                         // from a wake-up until its thread is runnable
  double spread = 0.02;                            // of computations, which are lognormal
  Nanoseconds timer_slack_ns = 60 * kMicrosecond;  // pauses last up to this much longer
  Nanoseconds pause_cost_ns = 8 * kMicrosecond;    // what a pause costs a thread besides
  Nanoseconds sample_cost_ns = 2 * kMicrosecond;
  Nanoseconds visit_cost_ns = 0;  // of a visit of a progress point that is watched
  // CPU time that the program's threads may use in each period; 0 if it is not limited (quota.cc).
  Nanoseconds quota_ns = 0;
  Nanoseconds quota_period_ns = 100 * kMillisecond;
  bool spin_in_stub = false;  // pauses use CPU time (Machine::spin_in_stub)
  double lost_share = 0;      // share of records that is lost
  Line fast_line = 0;         // for the truth: computations on this line …
  double speedup = 0;         // … take (1 - speedup) of their time
  std::uint64_t seed = 1;
};

// Indexed by tag; what really happened, in real time.
struct Visits {
  std::uint64_t count = 0;
  Nanoseconds first_ns = 0, last_ns = 0;
};

class Machine {
 public:
  explicit Machine(const MachineOptions& options);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Starts a thread of the program; `body` is called with the new thread.
  template <typename Body, typename... Arguments>
  Thread& spawn(Body body, Arguments... arguments) {
    Thread& thread = add_thread();
    start(thread, body(thread, arguments...));
    return thread;
  }
  // Starts a thread of another process, of which the controller sees when it runs and which threads
  // it wakes (perf/peers.h), or, if it is on another machine, nothing.
  template <typename Body, typename... Arguments>
  Thread& spawn_foreign(bool seen, Body body, Arguments... arguments) {
    Thread& thread = add_thread();
    thread.foreign_ = true;
    thread.seen_ = seen;
    start(thread, body(thread, arguments...));
    return thread;
  }
  void set_weight(Thread& thread, double weight) { thread.share_.weight = weight; }
  CpuLimits poll_quota();                                 // as the kernel tells of it
  void limit(Thread& thread) { thread.limited_ = true; }  // a foreign one, by the same quota
  void wake(Thread& thread);  // REQUIRES: blocked. By the running thread, if there is one
  void stop_spinning(Thread& thread);
  void wake_by_device_at(Thread& thread, Nanoseconds time_ns);
  void visit(std::uint32_t tag);
  void compute(Thread& thread, Line line, Nanoseconds mean_ns);
  void spin(Thread& thread, Line line);
  const std::set<Line>& spinning_lines() const { return spinning_lines_; }
  void block(Thread& thread);
  Random& random() { return random_; }

  // Runs up to and including `time_ns`, or until every thread has ended.
  void run_until(Nanoseconds time_ns);
  Nanoseconds now() const { return now_ns_; }
  bool alive() const { return !live_.empty(); }
  Nanoseconds idle_ns() const;  // of all cores together, since the beginning
  Visits visits(std::uint32_t tag) const;
  void forget_visits() { visits_.clear(); }

  // What the controller does to the machine.
  void watch();  // from now on events are recorded
  bool watched() const { return watched_; }
  // A thread is followed from the first call after its birth. What it did before makes no record,
  // and one that has ended by then never appears.
  std::vector<perf::Event> take_events();
  std::uint64_t records_lost() const { return records_lost_; }
  void set_period(Nanoseconds period_ns);  // draws a period for each thread (perf/session.cc)
  void jitter();                           // draws a new one for each thread that was sampled since
  void enable_sampling(bool on);
  // A more important program takes the core for this long.
  void steal(std::uint32_t core, Nanoseconds length_ns);
  void arm(Tid tid, Nanoseconds owed_total_ns, Nanoseconds stale_after_ns, Nanoseconds delay_ns);
  // Changes the whole debt of a thread with an armed shot. A thread that sleeps sees it when it
  // wakes.
  void owe(Tid tid, Nanoseconds owed_total_ns);
  // Pauses that begin from now on use CPU time, and so keep their thread's share of the cores.
  void spin_in_stub(bool on) { options_.spin_in_stub = on; }
  Shot* shot(Tid tid);  // null if there is no such thread

  const MachineOptions& options() const { return options_; }

 private:
  enum class Kind : std::uint8_t { core, timer, tick, period };
  struct Stop {
    Nanoseconds time_ns = 0;
    std::uint64_t order = 0;  // of events at one time the first planned is done first
    Kind kind = Kind::core;
    std::uint32_t index = 0;
    std::uint64_t version = 0;
    bool operator>(const Stop& other) const {
      return time_ns != other.time_ns ? time_ns > other.time_ns : order > other.order;
    }
  };

  Thread& add_thread();
  void start(Thread& thread, Task code);
  void end(Thread& thread);
  void make_runnable(Thread& thread, std::uint32_t by);
  void tick();
  void schedule();
  void dispatch(Core& core, Thread& thread);
  void count_idle();
  void leave(Core& core, perf::SwitchKind kind);
  void preempt(Core& core);
  void advance(Core& core);
  void occupy(Core& core, Nanoseconds length_ns);
  void plan(Core& core);
  void stop_at(Core& core);
  void run(Core& core);
  void take_sample(Core& core);
  void enter_stub(Core& core);
  void go_on_in_stub(Core& core);
  void pause_in_stub(Core& core);
  static Nanoseconds pause_end(const Shot& shot);
  void leave_stub(Core& core);
  void timer(Thread& thread);
  bool limits(const Core& core) const { return core.thread != nullptr && core.thread->limited_; }
  Nanoseconds quota_used() const;
  Nanoseconds quota_left_each() const;
  void enforce_quota();
  void begin_period();
  void set_period_of(Thread& thread);
  void emit_switch(const Core& core, perf::SwitchKind kind);
  void emit(const Thread& of, perf::Event event);
  bool follow(perf::ThreadStartEvent& birth);  // returns false if it has ended

  MachineOptions options_;
  Random random_;
  Cores cores_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<Thread>> threads_;  // by tid - kFirstTid; null if it has ended
  std::vector<Task> code_;                        // indexed in the same way
  std::vector<Thread*> live_;
  std::priority_queue<Stop, std::vector<Stop>, std::greater<>> stops_;
  std::uint64_t order_ = 0;
  Nanoseconds now_ns_ = 0;
  Thread* current_ = nullptr;  // the thread whose code is being executed
  unsigned computed_in_this_instant_ = 0;
  Nanoseconds idle_ns_ = 0, idle_until_ns_ = 0;

  struct Quota {
    Nanoseconds used_ns = 0;  // in this period, by the time until which cores have been advanced
    bool over = false;
    std::vector<Thread*> stopped;       // that could run otherwise
    unsigned periods = 0, used_up = 0;  // since the last poll
    bool throttled = false;
  };
  Quota quota_;

  bool watched_ = false;
  bool sampling_ = false;
  Nanoseconds period_ns_ = 0;
  std::vector<perf::Event> events_;
  std::uint64_t records_lost_ = 0;
  std::map<std::uint32_t, Visits> visits_;
  std::set<Line> spinning_lines_;
};

}  // namespace causalctl::sim
