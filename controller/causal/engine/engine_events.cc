// What the engine does with each record.
#include <algorithm>
#include <string>

#include "controller/causal/engine/engine.h"
#include "controller/causal/engine/intrusion.h"

namespace causalctl::causal {

void Engine::apply(const perf::SampleEvent& event) {
  const Tid tid = event.thread.tid;
  ledger_.ran(tid);
  if (!event.callers.empty() && parts_.pauser.in_stub(event.callers.front())) {
    cores_.spun_in_pause(event.period_ns);  // this is not the program's work
    return;
  }
  cores_.worked(event.period_ns);
  parts_.pauser.sampled(tid, event.stack_pointer);
  note_near_breakpoint(event);
  if (!event.in_kernel && !event.callers.empty()) spinning_.sampled(event.callers.front());
  const Attribution::Charge charge = parts_.attribution.charge(event);
  const bool known = charge.outcome == Attribution::Outcome::unit;
  const bool in_unit = known && experiment() != nullptr && charge.unit == experiment()->unit;
  earn(tid, credit_.sampled(tid, in_unit, event.period_ns, event.time_ns), event.time_ns);
  if (ledger_.is_coupled(tid)) {
    cores_.coupled(event.period_ns, in_unit);
  } else if (in_unit && ledger_.rested_lately(tid, event.time_ns)) {
    cores_.rested(event.period_ns);
  }
  if (in_unit) {
    ++samples_in_unit_;
  } else if (spinning(event)) {
    ledger_.spun(tid, event.period_ns);
  }
  if (known && !parts_.sampled_points.empty()) {
    visit_sampled_points(parts_.attribution.unit(charge.code_unit), event);
  }
}

void Engine::visit_sampled_points(const Unit& unit, const perf::SampleEvent& event) {
  if (!unit.is_line) return;
  const std::string full = unit.file + ":" + std::to_string(unit.line);
  for (const auto& [place, tag] : parts_.sampled_points) {
    if (unit.name == place || full.ends_with("/" + place)) {
      visit(tag, event.thread.tid, event.time_ns);
    }
  }
}

bool Engine::spinning(const perf::SampleEvent& event) {
  return cadence_.spinning() && !event.in_kernel && !event.callers.empty() &&
         spinning_.near(event.callers.front(), parts_.read_target);
}

void Engine::note_near_breakpoint(const perf::SampleEvent& event) {
  if (event.callers.empty() || event.in_kernel) return;
  for (const auto& [address, tag] : parts_.armory.breakpoints) {
    if (address / kCacheLine == event.callers.front() / kCacheLine) ++near_breakpoint_[tag];
  }
}

void Engine::earn(Tid thread, Nanoseconds amount_ns, Nanoseconds now_ns) {
  if (!earns() || amount_ns == 0) return;
  ledger_.earn(thread, amount_ns);
  std::get<mode::Experiment>(mode_).owing = true;
  last_earned_at_ns_ = now_ns;
}

void Engine::apply(const perf::SwitchEvent& event) {
  event.kind == perf::SwitchKind::in ? switched_in(event) : switched_out(event);
}

// Core time used by other programs does not shrink with the speedup: a server's clients need the
// same CPU time per request however fast the server is. The controller wakes at a fixed rate, so a
// faster unit loses less time to it.
void Engine::switched_in(const perf::SwitchEvent& event) {
  const Tid tid = event.thread.tid;
  const Ledger::OnCore on_core = ledger_.switched_in(tid, event.cpu, event.time_ns);
  if (ledger_.is_peer(tid)) return;
  Nanoseconds kept_off_ns = cores_.got_core(event.time_ns, on_core);
  const Nanoseconds by_us_ns = wake_ups_.taken_ns(event.cpu, on_core.stolen_ns, event.time_ns);
  if (cores_.pauses_use_cpu() && paused_at(tid, event.time_ns)) {
    waited_in_pause_ns_[tid] += on_core.waited_ns;
    kept_off_ns = 0;  // the wait is in the pause as measured
  }
  earn(tid, credit_.switched_in(tid, by_us_ns, event.time_ns, kept_off_ns), event.time_ns);
  cores_.waited_for_us(by_us_ns);
}

void Engine::switched_out(const perf::SwitchEvent& event) {
  const Tid tid = event.thread.tid;
  const bool preempted = event.kind == perf::SwitchKind::out_preempted;
  if (ledger_.is_peer(tid)) {
    return ledger_.switched_out(tid, event.cpu, event.time_ns, preempted, false);
  }
  const bool in_pause = (!preempted || cores_.pauses_use_cpu()) && paused_at(tid, event.time_ns);
  if (!preempted && !in_pause) cadence_.blocked();
  earn(tid,
       preempted || in_pause ? credit_.left_core(tid, event.time_ns)
                             : credit_.blocked(tid, event.time_ns),
       event.time_ns);
  ledger_.switched_out(tid, event.cpu, event.time_ns, preempted, in_pause);
}

// Returns whether a pause of the thread was asked for and has not ended, or has ended since the
// last step.
bool Engine::paused_at(Tid thread, Nanoseconds time_ns) const {
  return parts_.pauser.pausing(thread) ||
         std::any_of(paid_.begin(), paid_.end(), [&](const pause::Paid& paid) {
           return paid.tid == thread && paid.start_ns <= time_ns && time_ns <= paid.end_ns;
         });
}

void Engine::pay(const pause::Paid& paid) {
  latency_.came(paid.tid, paid.start_ns, paid.end_ns);
  const Nanoseconds length_ns = paid.end_ns - paid.start_ns;
  not_worked(paid);
  const Nanoseconds stopped_ns = cores_.quota_stops().within(paid.start_ns, paid.end_ns);
  ledger_.pay(paid.tid, std::max<Nanoseconds>(length_ns - stopped_ns, 0) +
                            (length_ns > 0 ? pause_cost_ns_ : paid.cost_ns));
}

// A pause that stays awake uses CPU time, except while it waits for a core. This is taken out of
// the thread's present interval.
void Engine::not_worked(const pause::Paid& paid) {
  const auto waited = waited_in_pause_ns_.extract(paid.tid);
  if (!paid.awake || paid.end_ns <= paid.start_ns) return;
  const Nanoseconds waited_ns = waited ? waited.mapped() : 0;
  credit_.paused(paid.tid, std::max<Nanoseconds>(paid.end_ns - paid.start_ns - waited_ns, 0));
}

void Engine::apply(const perf::WakeEvent& event) {
  // In a hardware interrupt the running thread has no part in the wake-up. A softirq says less: the
  // thread's own packet on its way through the loopback device also runs in one, and that is more
  // frequent.
  if (event.context == perf::WakeContext::hardirq) {
    ledger_.woken_externally(event.woken, event.time_ns);
    return;
  }
  const Tid waker = event.waker.tid;
  if (ledger_.may_be_woken(event.woken) && event.woken != waker && !ledger_.is_peer(waker)) {
    earn(waker, credit_.woke_another(waker, event.time_ns), event.time_ns);
  }
  ledger_.woken(event.woken, waker, event.time_ns);
}

void Engine::apply(const perf::VisitEvent& event) {
  visit(event.tag, event.thread.tid, event.time_ns);
  // The trap of a visit is not the program's time, in baselines and treatments alike. A prompt
  // uniform pause is compared with real time, in which the trap counts, so there it must not be
  // taken for standing still.
  if (!is_prompt()) ledger_.earn(event.thread.tid, parts_.armory.visit_cost_ns(event.tag));
}

void Engine::visit(std::uint32_t tag, Tid thread, Nanoseconds time_ns) {
  ledger_.visited(thread);
  if (time_ns < window_from_ns_) {
    return parts_.counters.late_visit(tag, thread, window_from_ns_ - time_ns);
  }
  if (one_unit_of_work_) delay_at_visit_ns_ = delay_ns();
  const Nanoseconds gained_ns = ledger_.lead(thread) - window_lead_ns_;
  parts_.counters.visit(tag, thread, time_ns - gained_ns - quota_stopped_ns() - window_from_ns_,
                        gained_ns);
}

void Engine::apply(const perf::ThreadStartEvent& event) {
  if (event.is_peer) {
    return ledger_.start_peer(event.thread.tid, event.time_ns, event.blocked);
  }
  ledger_.start_thread(event.thread.tid, event.parent.tid, event.time_ns, event.blocked);
  if (event.parent.serial != 0) parts_.counters.thread_began(event.thread.tid);
  if (!executed_) parts_.pauser.add_thread(event.thread.tid);
}

void Engine::apply(const perf::ThreadExitEvent& event) {
  last_exit_ns_ = event.time_ns;
  // What the thread has earned is passed on to the threads that join it.
  earn(event.thread.tid, credit_.blocked(event.thread.tid, event.time_ns), event.time_ns);
  ledger_.end_thread(event.thread.tid, event.time_ns);
  credit_.end_thread(event.thread.tid);
  parts_.pauser.remove_thread(event.thread.tid);
  parts_.counters.thread_ended(event.thread.tid);
}

void Engine::apply(const perf::ExecEvent& /*event*/) { executed_ = true; }

}  // namespace causalctl::causal
