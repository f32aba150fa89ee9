#include "controller/causal/engine/ledger.h"

#include <algorithm>
#include <utility>

#include "controller/base/error.h"

namespace causalctl::causal {
namespace {

// A thread that gets a core sooner than this after it became runnable did not wait for that core;
// the scheduler needs this time itself. Shorter waits would couple threads that merely follow each
// other on a core.
constexpr Nanoseconds kCoreWaitFloor = 50 * kMicrosecond;

// A core that was left longer ago than this was idle in between, or another program had it. But a
// thread that was already waiting when the core was left waited for the thread that left it.
constexpr Nanoseconds kHandOver = 20 * kMicrosecond;

// The scheduler may leave a woken thread on its waker's core for this time although another core is
// free. Such a wait is not caused by another program.
constexpr Nanoseconds kPlaced = 200 * kMicrosecond;

// A thread that joins another one runs again within this time of the other's end, as events show.
constexpr Nanoseconds kJoined = 500 * kMicrosecond;

}  // namespace

void Ledger::start_thread(Tid thread, Tid parent, Nanoseconds now_ns, bool blocked) {
  Thread fresh;
  const auto found = threads_.find(parent);
  fresh.lead_ns = found == threads_.end() ? max_lead() : found->second.lead_ns;
  fresh.coupled = found != threads_.end() && found->second.coupled;
  fresh.since_ns = now_ns;
  fresh.running_since_ns = now_ns;
  if (blocked) fresh.edge = Edge::missing;
  Thread& started = threads_[thread];
  // the id may be that of a thread whose end was lost
  enter(started, ThreadState::unknown, now_ns);
  started = fresh;
  if (blocked || parent != 0) {
    enter(started, blocked ? ThreadState::blocked : ThreadState::waiting_for_core, now_ns);
  }
}

void Ledger::start_peer(Tid thread, Nanoseconds now_ns, bool blocked) {
  start_thread(thread, 0, now_ns);
  Thread& started = threads_[thread];
  started.role = Role::peer;
  before_peer_ = {now_ns, ended_by_known_, ended_externally_};
  if (blocked) enter(started, ThreadState::blocked, now_ns);
}

bool Ledger::is_peer(Tid thread) const {
  const auto found = threads_.find(thread);
  return found != threads_.end() && is_peer(found->second);
}

void Ledger::end_thread(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  if (!is_peer(thread)) last_end_ = {now_ns, thread.lead_ns};
  if (thread.cpu && thread.state == ThreadState::running) {  // no switch record comes
    leave(core_of(*thread.cpu), tid, thread, now_ns, false);
  }
  enter(thread, ThreadState::unknown, now_ns);
  threads_.erase(found);
}

void Ledger::reset() {
  find_background_threads();
  for (auto& [tid, thread] : threads_) {
    thread.lead_ns = thread.runs_on_ns = 0;
    thread.early.reset();
  }
  for (Core& core : cores_) core.lead_ns = 0;
  pool_.reset();
  last_end_.reset();
  lifted_ns_ = 0;
}

void Ledger::earn(Tid thread, Nanoseconds amount_ns) {
  add(thread, amount_ns);
  pool_.earn(amount_ns);
}

void Ledger::pay(Tid thread, Nanoseconds amount_ns) {
  INVARIANT(amount_ns >= 0);
  add(thread, amount_ns);
}

void Ledger::add(Tid thread, Nanoseconds amount_ns) {
  if (const auto found = threads_.find(thread); found != threads_.end()) {
    found->second.lead_ns += amount_ns;
  }
}

// Peers stand still in virtual time, too: their leads rise as well, so that they owe nothing.
void Ledger::lift(Nanoseconds amount_ns) {
  INVARIANT(amount_ns >= 0);
  lifted_ns_ += amount_ns;
  pool_.lift(amount_ns);
  for (auto& [tid, thread] : threads_) {
    if (is_peer(thread)) thread.lead_ns += amount_ns;
    if (thread.early) thread.early->lead_ns += amount_ns;
  }
}

void Ledger::visited(Tid thread) {
  const auto found = threads_.find(thread);
  if (found == threads_.end() || is_peer(found->second)) return;
  found->second.role = Role::visitor;
  found->second.early.reset();  // since it is awake
  count_visitors(found->second, found->second.state, latest_ns_);
}

void Ledger::ran(Tid thread) {
  if (const auto found = threads_.find(thread); found != threads_.end()) {
    found->second.seen = true;
    enter(found->second, ThreadState::running, latest_ns_);
  }
}

void Ledger::enter(Thread& thread, ThreadState state, Nanoseconds now_ns) {
  count_known(thread, state, now_ns);
  count_visitors(thread, state, now_ns);
  if (!is_peer(thread)) {
    const auto change = [&](ThreadState of) { return (state == of) - (thread.state == of); };
    own_cores_.change(now_ns, change(ThreadState::running), change(ThreadState::waiting_for_core));
  }
  const bool wait_ends = thread.state == ThreadState::blocked && state != ThreadState::blocked;
  if (wait_ends && thread.role == Role::visitor && !thread.in_pause)
    waited_ns_ += now_ns - thread.since_ns;
  thread.state = state;
  count_runnable(thread, now_ns);
  if (state == ThreadState::waiting_for_core) {
    thread.granted_ns = own_cores_.granted_ns();
    thread.granted_known_ns = not_strangers_.granted_ns();
  }
}

void Ledger::arrive(Thread& thread, Nanoseconds waited_ns, Nanoseconds other_lead_ns,
                    bool by_chance) {
  if (by_chance) other_lead_ns = std::max(other_lead_ns, thread.lead_ns);
  waited_ns = std::max<Nanoseconds>(waited_ns, 0);
  const Nanoseconds before_ns = thread.lead_ns;
  thread.lead_ns = std::min(before_ns + waited_ns, other_lead_ns);
  INVARIANT(thread.lead_ns - before_ns <= waited_ns);
}

Ledger::OnCore Ledger::switched_in(Tid tid, std::uint32_t cpu, Nanoseconds now_ns) {
  latest_ns_ = std::max(latest_ns_, now_ns);
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return {};
  Thread& thread = found->second;
  const auto early = std::exchange(thread.early, std::nullopt);
  if (early && thread.state == ThreadState::blocked && !thread.in_pause &&
      perf::ended_early(early->at_ns, thread.since_ns, now_ns)) {
    end_wait_early(thread, tid, *early, now_ns);
  }
  const bool edge_missing = thread.edge == Edge::missing;
  if (edge_missing && unseen_credit_ == UnseenCredit::full) {
    arrive(thread, now_ns - thread.since_ns, max_lead());
  } else if (edge_missing && last_end_ && last_end_->at_ns >= thread.since_ns &&
             now_ns - last_end_->at_ns < kJoined) {
    arrive(thread, last_end_->at_ns - thread.since_ns, last_end_->lead_ns);
  }
  Core& core = core_of(cpu);
  if (!is_peer(thread)) core.of_target = true;
  thread.cpu = cpu;
  const ThreadState before = thread.state;
  const bool waited = before == ThreadState::waiting_for_core;
  enter(thread, ThreadState::running, now_ns);
  const bool own_core = core.left_by == tid && core.left_at_ns == thread.since_ns;
  OnCore result;
  if (waited) result = put_on_core(thread, tid, core, now_ns);
  if (waited && own_core) result.stolen_ns = result.waited_ns;
  if (before == ThreadState::blocked && !thread.in_pause) {
    end_externally(thread, now_ns);
  }
  come_to(core, thread, now_ns);
  thread.running_since_ns = now_ns;
  thread.seen = true;
  thread.edge = Edge::none;
  return result;
}

Ledger::OnCore Ledger::put_on_core(Thread& thread, Tid tid, const Core& core, Nanoseconds now_ns) {
  const Nanoseconds waited_ns = std::max<Nanoseconds>(now_ns - thread.since_ns, 0);
  OnCore result{.waited_ns = waited_ns};
  if (!is_peer(thread)) core_wait_ns_ += waited_ns;
  if (!is_peer(thread) && (thread.preempted || waited_ns > kPlaced)) {
    const auto of_wait = [&](double granted_ns) {
      return std::min(waited_ns, static_cast<Nanoseconds>(granted_ns));
    };
    const Nanoseconds foreign_ns = of_wait(own_cores_.granted_ns() - thread.granted_ns);
    const Nanoseconds strangers_ns = of_wait(not_strangers_.granted_ns() - thread.granted_known_ns);
    foreign_wait_ns_ += foreign_ns;
    own_wait_ns_ += waited_ns - foreign_ns;
    // It is not known how long a new thread has waited: its records begin up to a tick late.
    if (thread.seen) {
      stranger_wait_ns_ += strangers_ns;
      if (shared_) result.kept_off_ns = strangers_ns;
    }
  }
  // Then the thread has waited for any core.
  const bool short_all_along = core.short_since_ns <= thread.since_ns;
  const bool waited = waited_ns > kCoreWaitFloor || (short_all_along && !core.preempted);
  const bool for_strangers = !short_all_along && 2 * result.kept_off_ns > waited_ns;
  if (for_strangers || (thread.in_pause && thread.preempted)) return result;
  const bool for_other =
      waited && core.left_by != 0 && core.left_by != tid &&
      (core.left_at_ns >= thread.since_ns || now_ns - core.left_at_ns < kHandOver);
  const Nanoseconds most_ns = thread.lead_ns + waited_ns;
  if (for_other) {
    const Nanoseconds before_ns = thread.lead_ns;
    arrive(thread, waited_ns, short_all_along ? pool_.lead_ns() : core.lead_ns, core.by_exempt);
    // In virtual time, too, a thread is held up for no longer than the cores were short.
    if (short_all_along) {
      thread.lead_ns = std::max(thread.lead_ns, before_ns - (now_ns - core.short_since_ns));
    }
    thread.lead_ns = std::min(thread.lead_ns + thread.runs_on_ns, most_ns);
  } else if (thread.edge == Edge::spurious) {
    // The thread would not have blocked, so the whole wait is credited
    thread.lead_ns += waited_ns;
  }
  INVARIANT(thread.lead_ns <= most_ns);
  return result;
}

// In virtual time a preempted thread keeps its core until its successor arrives. A successor whose
// lead is smaller by d arrives d later, and the preempted thread gets d of its work done; its
// runs_on_ns keeps d for its next turn. A successor that comes out of a pause is left out, because
// that pause is not in its lead yet.
void Ledger::come_to(const Core& core, const Thread& successor, Nanoseconds now_ns) {
  const Nanoseconds behind_ns = core.lead_ns - successor.lead_ns;
  const bool another_between = now_ns - core.left_at_ns >= kHandOver;
  if (behind_ns <= 0 || another_between || exempt(successor) || successor.in_pause) return;
  const auto found = threads_.find(core.left_by);
  if (found == threads_.end()) return;
  Thread& before = found->second;
  const bool left_for_it =
      before.state == ThreadState::waiting_for_core && before.since_ns == core.left_at_ns;
  if (left_for_it) before.runs_on_ns = behind_ns;
}

void Ledger::switched_out(Tid tid, std::uint32_t cpu, Nanoseconds now_ns, bool preempted,
                          bool in_pause) {
  latest_ns_ = std::max(latest_ns_, now_ns);
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  leave(core_of(cpu), tid, thread, now_ns, preempted);
  enter(thread, preempted ? ThreadState::waiting_for_core : ThreadState::blocked, now_ns);
  thread.seen = true;
  thread.preempted = preempted;
  thread.runs_on_ns = 0;
  thread.since_ns = now_ns;
  thread.edge = preempted || in_pause ? Edge::none : Edge::missing;
  thread.in_pause = in_pause;
  const Nanoseconds ran_ns = std::max<Nanoseconds>(now_ns - thread.running_since_ns, 0);
  thread.cpu_ns += ran_ns;
  thread.ran_ns += ran_ns;
}

// REQUIRES: thread.state is still the state before the switch.
void Ledger::leave(Core& core, Tid tid, const Thread& thread, Nanoseconds now_ns, bool preempted) {
  core.left_by = tid;
  core.left_at_ns = now_ns;
  core.lead_ns = thread.lead_ns;
  core.by_exempt = exempt(thread);
  core.preempted = preempted;
  core.short_since_ns = pool_.short_since_ns();
}

// Records of a thread begin up to a tick after its birth, or with the attach, so it may have
// blocked unseen before. A wake-up proves that it had blocked, because the way of a new thread to
// its first core (sched_wakeup_new) makes no edge.
bool Ledger::may_be_woken(const Thread& thread) {
  return thread.state == ThreadState::blocked || !thread.seen;
}

bool Ledger::may_be_woken(Tid thread) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return false;
  return may_be_woken(found->second) || found->second.state == ThreadState::running;
}

void Ledger::woken(Tid tid, Tid waker, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  if (tid == waker) return thread.early.reset();  // in an interrupt on its own core: it goes on
  const auto other = threads_.find(waker);
  if (other == threads_.end()) return woken_externally(tid, now_ns);
  other->second.early.reset();  // since it is awake
  Waker by{waker, now_ns, other->second.lead_ns, exempt(other->second), is_visitor(other->second)};
  if (thread.state == ThreadState::running && thread.seen) thread.early = by;
  if (!may_be_woken(thread)) return;
  by.by_chance = met_by_chance(thread, other->second);
  end_wait(thread, tid, by);
  enter(thread, ThreadState::waiting_for_core, now_ns);
  thread.since_ns = now_ns;
}

// A known thread has ended the wait of this one.
void Ledger::end_wait(Thread& thread, Tid tid, const Waker& waker) {
  ++ended_by_known_;
  if (is_visitor(thread) || waker.is_visitor) ++meetings_.met;
  thread.seen = true;
  const Nanoseconds waited_ns = std::max<Nanoseconds>(waker.at_ns - thread.since_ns, 0);
  coupling_.waited(tid, waker.tid, waited_ns);
  const bool spurious = thread.lead_ns + waited_ns < waker.lead_ns;
  thread.edge = spurious ? Edge::spurious : Edge::none;
  arrive(thread, waited_ns, waker.lead_ns, waker.by_chance);
  if (thread.lead_ns == waker.lead_ns) thread.up_since_ns.reset();  // in step
}

// The thread was woken when it was about to leave its core, and has waited for nothing but a core.
void Ledger::end_wait_early(Thread& thread, Tid tid, const Waker& waker, Nanoseconds now_ns) {
  waker.tid == 0 ? end_externally(thread, thread.since_ns) : end_wait(thread, tid, waker);
  const Nanoseconds waited_ns = waited_ns_;
  enter(thread, ThreadState::waiting_for_core, now_ns);
  waited_ns_ = waited_ns;
}

// No known thread has ended the wait of this one.
void Ledger::end_externally(Thread& thread, Nanoseconds now_ns) {
  thread.up_since_ns = now_ns;
  ++ended_externally_;
  if (is_visitor(thread)) ++meetings_.ended_externally;
}

// Ignores a wait in a pause of ours: the wait for a core after it is in the pause as measured.
void Ledger::woken_externally(Tid tid, Nanoseconds now_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  if (thread.state == ThreadState::running && thread.seen) thread.early = Waker{.at_ns = now_ns};
  if (!may_be_woken(thread) || thread.in_pause) return;
  end_externally(thread, now_ns);
  thread.seen = true;
  thread.edge = Edge::none;
  enter(thread, ThreadState::waiting_for_core, now_ns);
  thread.since_ns = now_ns;
}

// A thread that began to wait for a background thread before that one woke up has waited for its
// timer, and inherits its debt. A thread that began later has met it over a lock, which in virtual
// time the background thread has held at another time.
bool Ledger::met_by_chance(const Thread& waiter, const Thread& waker) {
  return exempt(waker) && waiter.since_ns >= *waker.up_since_ns;
}

void Ledger::spun(Tid tid, Nanoseconds amount_ns) {
  if (const auto found = threads_.find(tid); found != threads_.end()) {
    arrive(found->second, amount_ns, max_lead());
  }
}

// In a uniform pause nothing is earned. A thread that stood still for longer than it owed, because
// it did not get a core afterwards, is ahead of the others, but they owe nothing for that.
Nanoseconds Ledger::max_lead() const {
  if (threads_.empty() || lifted_ns_ > 0) return lifted_ns_;
  const auto largest = std::max_element(
      threads_.begin(), threads_.end(),
      [](const auto& a, const auto& b) { return a.second.lead_ns < b.second.lead_ns; });
  return largest->second.lead_ns;
}

Nanoseconds Ledger::lead(Tid thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? 0 : found->second.lead_ns;
}

std::vector<Ledger::Debt> Ledger::debts() const {
  const Nanoseconds target_ns = max_lead();
  std::vector<Debt> debts;
  debts.reserve(threads_.size());
  for (const auto& [tid, thread] : threads_) {
    if (is_peer(thread)) continue;
    const Nanoseconds debt_ns = exempt(thread) ? 0 : target_ns - thread.lead_ns;
    INVARIANT(debt_ns >= 0 || lifted_ns_ > 0);
    debts.push_back({tid, debt_ns, thread.state});
  }
  return debts;
}

}  // namespace causalctl::causal
