// The ledger keeps the virtual time of every thread (docs/virtual-time.md). It is pure: events go
// in, debts come out.
//
// Thread i's virtual time is v_i = t - lead_i. Its lead is the sum of what it earned (samples of
// its own in the selected unit, each worth speedup x period, Coz eq. 4), what it paid (pauses, as
// measured), and what it took over from threads that it waited for. Coz keeps the lead as a counter
// of pauses. An experiment is right if every interaction between threads happens in the order of
// virtual time, as in conservative parallel simulation. We cannot stop a thread at a wake-up, but
// the timestamps of the edge allow us to account for it exactly afterwards:
//
//   Thread i blocks at t_b, thread j of the target wakes it at t_w, W = t_w - t_b. In virtual time
//   i goes on at the later of its own arrival and j's wake-up, max(t_b - lead_i, t_w - lead_j),
//   hence
//
//     lead_i <- min(lead_i + W, lead_j)                                      (the wake rule)
//
// If j is ahead, this is credit, limited by the time really waited. If j owes more, i inherits the
// debt. Coz's rule (section 3.4.1), full credit, is the case of a long W and a j that has paid. If
// j's wake-up comes before i's own arrival, i does not wait at all in virtual time, and is also
// credited with the time that the wake-up takes to reach it. A core is a resource like a lock. The
// same rule holds for a thread that waited for a core (the core rule), with the lead that all cores
// have while they are busy (core_pool.h), or with that of the thread that left this core. A thread
// that anything else wakes keeps its lead, except for what rules 5 and 7 of docs/virtual-time.md
// say about joins, spinning and unseen wake-ups.
//
// Strangers are programs that are neither the target nor a peer. They get a fair share of the
// cores, so a thread waits for them in proportion to its CPU time, whichever thread of the target
// had the core before. So such a wait is no edge; Credit gives what it is worth (rule 13).
//
// G is the largest lead of all live threads. Thread i still has to stand still for debt_i = G -
// lead_i. Background threads, which hardly run, are exempt after a timer has woken them (rule 8).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/engine/core_pool.h"
#include "controller/causal/engine/coupling.h"
#include "controller/causal/engine/own_cores.h"
#include "controller/causal/record/core_totals.h"
#include "controller/perf/events.h"

namespace causalctl::causal {

enum class ThreadState : std::uint8_t { unknown, running, waiting_for_core, blocked };

class Ledger {
 public:
  // How a wait is credited whose end was not seen, only that the thread runs again: `none` where
  // wake edges are reported, `full` (up to G) where the kernel does not let us see them
  // (docs/security.md).
  enum class UnseenCredit : std::uint8_t { none, full };

  // `cores`: on which the target may run.
  explicit Ledger(UnseenCredit unseen = UnseenCredit::none, int cores = 1)
      : own_cores_(cores), not_strangers_(cores), pool_(cores), unseen_credit_(unseen) {}
  Ledger(Ledger&&) = default;

  // `parent` 0: unknown, owes nothing. `blocked`: so it was found when its records began.
  void start_thread(Tid thread, Tid parent, Nanoseconds now_ns, bool blocked = false);
  // A peer's thread: it cannot be paused and earns nothing, but leads pass through it (rule 5).
  void start_peer(Tid thread, Nanoseconds now_ns, bool blocked);
  bool is_peer(Tid thread) const;
  void end_thread(Tid thread, Nanoseconds now_ns);

  // Whether strangers share the cores. Where they do not, threads that wait though a core is free
  // wait because of the scheduler, and so it is as by rule 6.
  void share_cores(bool shared) { shared_ = shared; }
  // In a run that is one unit of work every thread counts as one that passes a progress point:
  // meetings() and couple() are of all.
  void count_all_as_visitors() { all_visit_ = true; }
  // Finds the threads that are coupled (coupling.h), by what was seen since the last call.
  CoupledTime couple();
  bool is_coupled(Tid thread) const;
  // Returns whether a device or a timer has ended a wait of the thread within the last 100 ms, and
  // no thread of the target has brought it into step since.
  bool rested_lately(Tid thread, Nanoseconds now_ns) const;

  // Forgets all leads (between experiments); states and block times stay.
  void reset();

  void earn(Tid thread, Nanoseconds amount_ns);
  // All threads owe that much more, and no thread has earned it: a uniform pause.
  void lift(Nanoseconds amount_ns);
  void pay(Tid thread, Nanoseconds amount_ns);  // REQUIRES, as lift(): amount_ns >= 0

  void visited(Tid thread);  // a progress point: in its virtual time progress is measured
  void ran(Tid thread);      // a sample: the thread is on a core
  struct OnCore {
    Nanoseconds waited_ns = 0;  // for a core
    Nanoseconds stolen_ns = 0;  // another program had the thread's core; 0: it left it otherwise
    Nanoseconds kept_off_ns =
        0;  // of the wait, what strangers caused; 0 where cores are not shared
  };
  OnCore switched_in(Tid thread, std::uint32_t cpu, Nanoseconds now_ns);
  // `in_pause`: it may be our pause, not a wait of its own, that it leaves the core for, or that it
  // is preempted in: what it waits for then is in the pause as measured.
  void switched_out(Tid thread, std::uint32_t cpu, Nanoseconds now_ns, bool preempted,
                    bool in_pause);
  void woken(Tid thread, Tid waker, Nanoseconds now_ns);
  // An external wake-up, by a device or a timer: the thread's lead stays, but from here on it
  // waits for a core (rules 5 and 6).
  void woken_externally(Tid thread, Nanoseconds now_ns);

  // The thread has waited for `amount_ns` by spinning. For which thread cannot be seen: taken to be
  // the one that is ahead of all others.
  void spun(Tid thread, Nanoseconds amount_ns);

  Nanoseconds max_lead() const;
  Nanoseconds lead(Tid thread) const;  // 0 for a thread that is not known
  // Whether its wake-up is a meeting: it is blocked, for all that is known, or about to be.
  bool may_be_woken(Tid thread) const;

  struct Debt {
    Tid thread = 0;
    Nanoseconds debt_ns = 0;
    ThreadState state = ThreadState::unknown;
  };
  // The largest lead less each thread's own: less than 0 only in a uniform pause, where a thread
  // may stand still for longer than it owes. Nothing is asked of a background thread whose last
  // wake-up was external.
  std::vector<Debt> debts() const;

  // Totals since the start. Waits, of peers' threads too, that were ended by a thread known here,
  // and those that were ended by anything else; and the time for which threads that pass progress
  // points have waited, for whatever, averaged over these threads.
  std::uint64_t waits_ended_by_known() const { return ended_by_known_; }
  std::uint64_t waits_ended_externally() const { return ended_externally_; }
  // How waits ended since the latest peer's thread is followed (before that it counts as external,
  // too), or since the start.
  struct WaitEnds {
    Nanoseconds since_ns = 0;  // 0: the start
    std::uint64_t by_known = 0, externally = 0;
  };
  WaitEnds wait_ends_with_peers() const {
    return {before_peer_.since_ns, ended_by_known_ - before_peer_.by_known,
            ended_externally_ - before_peer_.externally};
  }
  Nanoseconds mean_wait_ns() const;
  Nanoseconds mean_debt_ns() const;  // of the target's threads that pass progress points, too

  // Totals since the start, summed over threads: waits for a core, and what of them was foreign:
  // caused by other processes (peers, strangers, the controller) or a limit of CPU time.
  Nanoseconds core_wait_ns() const { return core_wait_ns_; }
  Nanoseconds foreign_wait_ns() const { return foreign_wait_ns_; }
  // What other threads of the target caused. What is left are moments on the way to a core.
  Nanoseconds own_wait_ns() const { return own_wait_ns_; }
  Nanoseconds stalled_ns() const { return own_cores_.stalled_ns(); }  // see OwnCores
  // Ever growing, of CoreTotals: visitors_cpu_ns, met, ended_externally.
  CoreTotals meetings() const;
  const OwnCores::Withheld& withheld() const { return own_cores_.withheld(); }
  Nanoseconds stranger_wait_ns() const { return stranger_wait_ns_; }  // of core_wait_ns, too
  std::size_t foreground_threads() const;  // of the target, that live: not background threads

 private:
  enum class Role : std::uint8_t {
    ordinary,
    background,  // it hardly runs (rule 8); judged anew at each reset()
    visitor,     // it has passed a progress point
    peer,        // of another process
  };
  enum class Edge : std::uint8_t {  // of the wake-up that ends the present wait
    none,                           // it is known, or the thread does not wait by itself
    missing,  // the thread is blocked, not in a pause, and no record has told what ends that
    // The thread is being woken by one that, in virtual time, had signalled before this one went to
    // sleep: in virtual time it would not have blocked, so its way to a core is credited, too.
    spurious,
  };
  struct Waker {  // as it was when it woke another thread
    Tid tid = 0;  // 0: an interrupt
    Nanoseconds at_ns = 0;
    Nanoseconds lead_ns = 0;
    bool by_chance = false;  // the two have met by chance
    bool is_visitor = false;
  };
  struct Thread {
    Nanoseconds lead_ns = 0;
    ThreadState state = ThreadState::unknown;
    Nanoseconds since_ns = 0;          // of a wait: for a wake-up, or for a core
    std::optional<std::uint32_t> cpu;  // the last one
    Role role = Role::ordinary;
    Edge edge = Edge::none;
    bool in_pause = false;       // of ours, when it left its core last
    bool preempted = false;      // so it left its core last
    Nanoseconds runs_on_ns = 0;  // in virtual time, after that (see come_to)
    bool seen = false;           // a record has told of its state
    std::optional<Waker> early;  // the latest one while the thread is on its core
    // When a timer or a device has ended its last wait; nullopt: no such thing, or a thread of the
    // target has brought it into step since.
    std::optional<Nanoseconds> up_since_ns;
    Nanoseconds running_since_ns = 0;
    Nanoseconds cpu_ns = 0;       // before that; of the last few experiments
    double granted_ns = 0;        // see OwnCores, when it began to wait for a core
    double granted_known_ns = 0;  // … of not_strangers_
    bool among_known = false;     // it counts in not_strangers_
    bool visitor_runs = false;    // it counts in running_visitors_
    Nanoseconds ran_ns = 0;       // since couple(), before running_since
    bool coupled = false;
    std::optional<std::size_t> runnable_at;  // in runnable_
  };
  struct Core {
    bool of_target = false;  // a thread of the target has run on it
    Tid left_by = 0;
    Nanoseconds left_at_ns = 0;
    Nanoseconds lead_ns = 0;  // of the thread that left it, then
    bool by_exempt = false;
    bool preempted = false;
    Nanoseconds short_since_ns = 0;  // of the pool, then
  };

  void add(Tid thread, Nanoseconds amount_ns);
  void enter(Thread& thread, ThreadState state, Nanoseconds now_ns);
  void count_runnable(Thread& thread, Nanoseconds now_ns);
  double lead_of_runnable() const;
  static bool may_be_woken(const Thread& thread);
  void count_visitors(Thread& thread, ThreadState state, Nanoseconds now_ns);
  void count_known(Thread& thread, ThreadState state, Nanoseconds now_ns);
  Core& core_of(std::uint32_t cpu) {
    if (cpu >= cores_.size()) cores_.resize(cpu + 1);
    return cores_[cpu];
  }
  void leave(Core& core, Tid tid, const Thread& thread, Nanoseconds now_ns, bool preempted);
  OnCore put_on_core(Thread& thread, Tid tid, const Core& core, Nanoseconds now_ns);
  void end_wait(Thread& thread, Tid tid, const Waker& waker);
  void end_wait_early(Thread& thread, Tid tid, const Waker& waker, Nanoseconds now_ns);
  void end_externally(Thread& thread, Nanoseconds now_ns);
  void come_to(const Core& core, const Thread& successor, Nanoseconds now_ns);

  void find_background_threads();
  void catch_up(Thread& thread);
  bool is_visitor(const Thread& thread) const {
    return thread.role == Role::visitor || (all_visit_ && !is_peer(thread));
  }
  static bool is_peer(const Thread& thread) { return thread.role == Role::peer; }
  static bool exempt(const Thread& thread) {
    return thread.role == Role::background && thread.up_since_ns;
  }
  static bool met_by_chance(const Thread& waiter, const Thread& waker);
  // The wake rule. The thread's virtual time does not go back: its lead grows by no more than it
  // waited. `by_chance`: credit, but no debt, is handed on.
  static void arrive(Thread& thread, Nanoseconds waited_ns, Nanoseconds other_lead_ns,
                     bool by_chance = false);

  std::unordered_map<Tid, Thread> threads_;
  Nanoseconds lifted_ns_ = 0;
  std::uint64_t ended_by_known_ = 0, ended_externally_ = 0;
  WaitEnds before_peer_;       // until the latest peer's thread was followed
  Nanoseconds waited_ns_ = 0;  // by threads that pass progress points
  Nanoseconds latest_ns_ = 0;  // time of the latest switch
  std::deque<Core> cores_;     // by number; references to them stay
  // The latest end of a thread. Its events are closed before it wakes the thread that joins it, so
  // that there is no edge: a thread that wakes up right afterwards, from a wait that no known
  // thread ended, is taken to be that one.
  struct End {
    Nanoseconds at_ns = 0;
    Nanoseconds lead_ns = 0;
  };
  std::optional<End> last_end_;
  Nanoseconds core_wait_ns_ = 0;
  Nanoseconds foreign_wait_ns_ = 0;
  Nanoseconds own_wait_ns_ = 0;
  Nanoseconds stranger_wait_ns_ = 0;
  bool shared_ = false;
  OwnCores own_cores_;
  OwnCores not_strangers_;  // peers on the target's cores count as the target's
  CorePool pool_;
  CoreTotals meetings_;  // visitors_cpu_ns as of visitors_at_ns_
  Coupling coupling_;
  bool all_visit_ = false;
  int running_visitors_ = 0;
  Nanoseconds visitors_at_ns_ = 0;
  std::vector<Thread*> runnable_;  // peers, too, where they run on cores of the target
  UnseenCredit unseen_credit_;
};

}  // namespace causalctl::causal
