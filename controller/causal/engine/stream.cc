#include "controller/causal/engine/stream.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/causal/engine/intrusion.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kThresholdUniformPause = kMillisecond;
constexpr Nanoseconds kLump = kMillisecond;  // of a prompt uniform pause
constexpr double kSpread = 0.5;              // of a tick, from the shortest to the longest

// The controller gives the core back sooner than this; what is longer others have taken.
constexpr Nanoseconds kLongestStep = kMillisecond / 2;

// Whether cores are shared is checked before each experiment, and in long ones as often as this,
// where the target has had so much CPU time since.
constexpr Nanoseconds kLongestUnchecked = kSecond;
constexpr Nanoseconds kLongestUncheckedWhole = 200 * kMillisecond;
constexpr Nanoseconds kEnoughToCheck = 100 * kMillisecond;

constexpr double kSmooth = 2;  // sampling periods; see credit.h
constexpr std::size_t kMaxLatencies = 100'000;

}  // namespace

Stream::Stream(StreamParts parts)
    : parts_(std::move(parts)),
      ledger_(parts_.session.limits().wake_edges ? Ledger::UnseenCredit::none
                                                 : Ledger::UnseenCredit::full,
              parts_.cores),
      pause_cost_ns_(parts_.shot_cost_ns) {}

Stream::Step Stream::step() {
  Nanoseconds now_ns = parts_.clock.now();
  if (next_tick_ns_ == 0) {
    next_tick_ns_ = now_ns;
    cadence_.start(now_ns);
    checked_ = core_use();
    idle_before_ns_ = checked_.idle_ns.value_or(0);
    account_ = CoreAccount(account_of(checked_));
  }
  parts_.clock.sleep_until(next_tick_ns_);
  now_ns = parts_.clock.now();
  wake_ups_[steps_++ % wake_ups_.size()] = {now_ns, parts_.clock.core()};
  const Step result{now_ns - next_tick_ns_};
  next_tick_ns_ = std::max(next_tick_ns_ + to_next_tick_ns(), now_ns + cadence_.tick_ns() / 2);

  // Events first, then pauses: a pause that ended before an event of its thread is then known.
  const auto events = parts_.session.drain(now_ns);
  paid_ = parts_.pauser.collect(now_ns);
  auto next_paid = paid_.begin();
  const auto pay_until = [&](Nanoseconds time_ns) {
    for (; next_paid != paid_.end() && next_paid->end_ns <= time_ns; ++next_paid) {
      note_latency(*next_paid);
      const Nanoseconds length_ns = next_paid->end_ns - next_paid->start_ns;
      not_worked(*next_paid);
      const Nanoseconds stopped_ns = quota_stops_.within(next_paid->start_ns, next_paid->end_ns);
      ledger_.pay(next_paid->tid, std::max<Nanoseconds>(length_ns - stopped_ns, 0) +
                                      (length_ns > 0 ? pause_cost_ns_ : next_paid->cost_ns));
    }
  };
  for (const perf::Event& event : events) {
    pay_until(perf::time_of(event));
    std::visit([this](const auto& each) { apply(each); }, event);
  }
  pay_until(now_ns + kSecond);
  const Nanoseconds unchecked_ns = now_ns - checked_.at_ns;
  if (unchecked_ns > (whole_ ? kLongestUncheckedWhole : kLongestUnchecked)) check_for_strangers();
  lift(now_ns);
  request_pauses();
  parts_.attribution.absorb();
  return result;
}

// Of a target that works for a moment every 2 ms, ticks in step with it might never find a thread
// on a core. Evenly spread by the golden ratio, the same in every run.
Nanoseconds Stream::to_next_tick_ns() const {
  if (!prompt_) return cadence_.tick_ns();
  constexpr double golden = 0.6180339887;
  const double spread = std::fmod(golden * static_cast<double>(steps_), 1.0) - 0.5;
  return static_cast<Nanoseconds>(static_cast<double>(kShortestTick) * (1 + kSpread * spread));
}

void Stream::apply(const perf::SampleEvent& event) {
  ledger_.ran(event.thread.tid);
  if (!event.callers.empty() && parts_.pauser.in_stub(event.callers.front())) {
    standing_cpu_ns_ += event.period_ns;  // none of the program's work
    return;
  }
  cpu_time_ns_ += event.period_ns;
  parts_.pauser.sampled(event.thread.tid, event.stack_pointer);
  if (near_breakpoint(event)) ++near_breakpoint_;
  if (!surveyed_ && !event.in_kernel && !event.callers.empty()) {
    spinning_.sampled(event.callers.front());
  }
  const Attribution::Charge charge = parts_.attribution.charge(event);
  const bool known = charge.outcome == Attribution::Outcome::unit;
  const bool in_unit = known && charge.unit == unit_;
  earn(event.thread.tid, credit_.sampled(event.thread.tid, in_unit, event.period_ns, event.time_ns),
       event.time_ns);
  if (ledger_.is_coupled(event.thread.tid)) account_.sampled(event.period_ns, in_unit);
  if (in_unit) {
    ++samples_in_unit_;
  } else if (spinning(event)) {
    ledger_.spun(event.thread.tid, event.period_ns);
  }
  if (!known) return;
  if (!parts_.sampled_points.empty()) {
    const Unit& unit = parts_.attribution.unit(charge.unit);
    for (const auto& [place, tag] : parts_.sampled_points) {
      if (!unit.is_line) break;
      const std::string full = unit.file + ":" + std::to_string(unit.line);
      if (unit.name == place || full.ends_with("/" + place)) {
        visit(tag, event.thread.tid, event.time_ns);
      }
    }
  }
}

// A pause that was awake has used CPU time, save what it waited for a core, in the midst of what
// its thread runs between two meetings.
void Stream::not_worked(const pause::Paid& paid) {
  const auto waited = waited_in_pause_ns_.extract(paid.tid);
  if (!paid.awake || paid.end_ns <= paid.start_ns) return;
  const Nanoseconds waited_ns = waited ? waited.mapped() : 0;
  credit_.paused(paid.tid, std::max<Nanoseconds>(paid.end_ns - paid.start_ns - waited_ns, 0));
}

bool Stream::spinning(const perf::SampleEvent& event) {
  return cadence_.spinning() && !event.in_kernel && !event.callers.empty() &&
         spinning_.near(event.callers.front(), parts_.read_target);
}

void Stream::earn(Tid thread, Nanoseconds amount_ns, Nanoseconds now_ns) {
  if (!earning_ || amount_ns == 0) return;
  ledger_.earn(thread, amount_ns);
  owing_ = true;
  last_earned_at_ns_ = now_ns;
}

bool Stream::near_breakpoint(const perf::SampleEvent& event) const {
  if (event.callers.empty() || event.in_kernel) return false;
  return std::any_of(parts_.breakpoints.begin(), parts_.breakpoints.end(), [&](Address breakpoint) {
    return breakpoint / kCacheLine == event.callers.front() / kCacheLine;
  });
}

void Stream::apply(const perf::SwitchEvent& event) {
  const Tid tid = event.thread.tid;
  if (ledger_.is_peer(tid)) {
    if (event.kind == perf::SwitchKind::in) {
      ledger_.switched_in(tid, event.cpu, event.time_ns);
    } else {
      ledger_.switched_out(tid, event.cpu, event.time_ns,
                           event.kind == perf::SwitchKind::out_preempted, false);
    }
    return;
  }
  if (event.kind == perf::SwitchKind::in) {
    const Nanoseconds stalled_before_ns = ledger_.stalled_ns();
    const Ledger::OnCore on_core = ledger_.switched_in(tid, event.cpu, event.time_ns);
    const Nanoseconds stalled_ns = ledger_.stalled_ns() - stalled_before_ns;
    quota_stops_.stopped(event.time_ns - stalled_ns, event.time_ns);
    const Nanoseconds stopped_ns =
        quota_stops_.within(event.time_ns - on_core.waited_ns, event.time_ns);
    stopped_wait_ns_ += stopped_ns;
    const Nanoseconds by_us_ns = stolen_by_us(event, on_core.stolen_ns);
    Nanoseconds kept_off_ns = std::max<Nanoseconds>(on_core.kept_off_ns - stopped_ns, 0);
    if (awake_ && paused_at(tid, event.time_ns)) {
      waited_in_pause_ns_[tid] += on_core.waited_ns;
      kept_off_ns = 0;  // it is in the pause as measured
    }
    earn(tid, credit_.switched_in(tid, by_us_ns, event.time_ns, kept_off_ns), event.time_ns);
    core_wait_for_us_ns_ += by_us_ns;
    return;
  }
  const bool preempted = event.kind == perf::SwitchKind::out_preempted;
  const bool in_pause = (!preempted || awake_) && paused_at(tid, event.time_ns);
  if (!preempted && !in_pause) cadence_.blocked();
  earn(tid,
       preempted || in_pause ? credit_.left_core(tid, event.time_ns)
                             : credit_.blocked(tid, event.time_ns),
       event.time_ns);
  ledger_.switched_out(tid, event.cpu, event.time_ns, preempted, in_pause);
}

// What others take from the target they take whether or not its code gets faster: the clients of a
// server run as long for each answer as before. The controller runs as often, whatever is answered.
Nanoseconds Stream::stolen_by_us(const perf::SwitchEvent& event, Nanoseconds stolen_ns) const {
  if (stolen_ns == 0) return 0;
  const bool ours = std::any_of(wake_ups_.begin(), wake_ups_.end(), [&](const WakeUp& wake_up) {
    return wake_up.core == event.cpu && event.time_ns - stolen_ns <= wake_up.at_ns &&
           wake_up.at_ns <= event.time_ns;
  });
  return ours ? std::min(stolen_ns, kLongestStep) : 0;
}

// Asked for and not ended, or ended since the last step.
bool Stream::paused_at(Tid thread, Nanoseconds time_ns) const {
  return parts_.pauser.pausing(thread) ||
         std::any_of(paid_.begin(), paid_.end(), [&](const pause::Paid& paid) {
           return paid.tid == thread && paid.start_ns <= time_ns && time_ns <= paid.end_ns;
         });
}

void Stream::apply(const perf::WakeEvent& event) {
  // In a hardware interrupt the running thread has no part in the wake-up. So it may be in a
  // softirq, which may also be the thread's own packet on its way through the loopback device, and
  // that is more frequent.
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

void Stream::apply(const perf::VisitEvent& event) {
  visit(event.tag, event.thread.tid, event.time_ns);
  // Its trap is none of the program's time, in a baseline no more than in a treatment. A prompt
  // uniform pause is compared with real time, in which the trap counts: it must not be taken for
  // standing still.
  if (!prompt_) ledger_.earn(event.thread.tid, parts_.visit_cost_ns(event.tag));
}

void Stream::visit(std::uint32_t tag, Tid thread, Nanoseconds time_ns) {
  ledger_.visited(thread);
  if (time_ns < window_from_ns_) return parts_.counters.late_visit(tag, thread);
  if (notes_delay_) delay_at_visit_ns_ = delay_ns();
  const Nanoseconds gained_ns = ledger_.lead(thread) - window_lead_ns_;
  parts_.counters.visit(tag, thread, time_ns - gained_ns - quota_stopped_ns() - window_from_ns_);
}

void Stream::apply(const perf::ThreadStartEvent& event) {
  if (event.is_peer) {
    return ledger_.start_peer(event.thread.tid, event.time_ns, event.blocked);
  }
  ledger_.start_thread(event.thread.tid, event.parent.tid, event.time_ns, event.blocked);
  if (!executed_) parts_.pauser.add_thread(event.thread.tid);
}

void Stream::apply(const perf::ThreadExitEvent& event) {
  last_exit_ns_ = event.time_ns;
  // What it has earned goes to those who join it.
  earn(event.thread.tid, credit_.blocked(event.thread.tid, event.time_ns), event.time_ns);
  ledger_.end_thread(event.thread.tid, event.time_ns);
  credit_.end_thread(event.thread.tid);
  parts_.pauser.remove_thread(event.thread.tid);
  parts_.counters.thread_ended(event.thread.tid);
}

void Stream::apply(const perf::MapEvent& /*event*/) { parts_.attribution.mappings_changed(); }

void Stream::apply(const perf::ExecEvent& /*event*/) { executed_ = true; }

void Stream::lift(Nanoseconds now_ns) {
  if (pause_rate_ == 0) return;
  const auto due_ns =
      static_cast<Nanoseconds>(pause_rate_ * static_cast<double>(now_ns - lifted_at_ns_));
  if (prompt_ && due_ns < kLump) return;  // all at the same time
  ledger_.lift(due_ns);
  lifted_at_ns_ = now_ns;
  owing_ = true;
}

void Stream::request_pauses() {
  if (!owing_ || executed_) return;  // a new program has no stub
  for (const Ledger::Debt& debt : ledger_.debts()) {
    const bool pausing = parts_.pauser.pausing(debt.thread);
    // Never arm a thread that is blocked: its shot would fire right after the wake-up, before the
    // credit of that wake-up is known. One that waits for a core is to stand still only where all
    // are; else it may earn meanwhile what it owes.
    const bool gets_on_core = debt.state == ThreadState::running ||
                              (prompt_ && debt.state == ThreadState::waiting_for_core);
    if (pausing || (gets_on_core && debt.debt_ns > threshold_ns())) {
      if (!pausing && earning_) asked_for_sample_at_ns_[debt.thread] = last_earned_at_ns_;
      // By now, not since the tick: what the step took would count as the shot's delay.
      parts_.pauser.set_debt(debt.thread, debt.debt_ns, parts_.clock.now());
    }
  }
}

void Stream::note_latency(const pause::Paid& paid) {
  const auto asked = asked_for_sample_at_ns_.find(paid.tid);
  if (asked == asked_for_sample_at_ns_.end()) return;
  if (paid.end_ns > paid.start_ns && sample_to_pause_ns_.size() < kMaxLatencies) {
    sample_to_pause_ns_.push_back(paid.start_ns - asked->second);
  }
  asked_for_sample_at_ns_.erase(asked);
}

Nanoseconds Stream::sample_to_pause_ns(double quantile) const {
  if (sample_to_pause_ns_.empty()) return 0;
  std::vector<Nanoseconds> sorted = sample_to_pause_ns_;
  const auto at = sorted.begin() +
                  static_cast<std::ptrdiff_t>(quantile * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

void Stream::begin_window() {
  parts_.counters.start();
  window_from_ns_ = parts_.clock.now();
  window_lead_ns_ = ledger_.max_lead();
  window_stopped_ns_ = quota_stops_.total_ns();
  samples_in_unit_ = 0;
}

void Stream::begin_counting() {
  check_for_strangers();
  ledger_.reset();
  begin_window();
}

CoreUse Stream::core_use() const {
  CoreUse use;
  use.at_ns = parts_.clock.now();
  use.cpu_ns = used_cpu_ns();
  use.stranger_wait_ns = ledger_.stranger_wait_ns() - core_wait_for_us_ns_;
  use.withheld_ns = ledger_.withheld().all_ns;
  use.together_ns = ledger_.withheld().together_ns;
  use.idle_ns = parts_.idle_ns ? parts_.idle_ns() : std::nullopt;
  return use;
}

CoreAccount::Now Stream::account_of(const CoreUse& use) const {
  return {use.at_ns, use.cpu_ns, use.stranger_wait_ns - stopped_wait_ns_, quota_stops_.total_ns()};
}

void Stream::run_is_one_unit_of_work() {
  whole_ = true;
  ledger_.count_all_as_visitors();
}

CoreTotals Stream::core_totals() const {
  const CoreUse use = core_use();
  CoreTotals totals = ledger_.meetings();
  totals.cpu_ns = use.cpu_ns;
  totals.spin = spin_;
  if (use.idle_ns) {
    totals.cores = parts_.cores;
    totals.idle_ns = *use.idle_ns - idle_before_ns_;
  }
  account_.add_to(totals, account_of(use));
  return totals;
}

void Stream::check_for_strangers() {
  if (used_cpu_ns() - checked_.cpu_ns < kEnoughToCheck) return;
  const CoreUse now = core_use();
  const CpuLimits limits = parts_.cpu_limits ? parts_.cpu_limits() : CpuLimits{};
  const CoupledTime coupled = ledger_.couple();
  CoreUse since = now - checked_;
  since.peers_cpu_ns = coupled.all_peers_ns;
  shared_cores_.update(since, parts_.cores, limits);
  ledger_.share_cores(shared_cores_.shared());
  quota_stops_.set_active(shared_cores_.quota());
  account_.update(account_of(now), coupled,
                  {shared_cores_.shared(), shared_cores_.quota(), limits.granted.value_or(0)});
  awake_ = shared_cores_.may_stand_awake();
  throttled_ = limits.throttled;
  parts_.pauser.stand_awake(awake_);
  checked_ = now;
}

void Stream::begin_uniform_pause(double rate, bool prompt) {
  begin_counting();
  cadence_.passed(window_from_ns_, true);
  pause_rate_ = rate;
  prompt_ = prompt;
  lifted_at_ns_ = window_from_ns_;
}

void Stream::begin(UnitId unit, double speedup, Nanoseconds period_ns) {
  begin_counting();
  if (parts_.pauser.polls_target()) cadence_.limit(kShortestTick);
  cadence_.passed(window_from_ns_, true);
  cadence_.update(window_from_ns_, ledger_.core_wait_ns(), ledger_.own_wait_ns() / parts_.cores);
  credit_.begin(speedup, static_cast<Nanoseconds>(kSmooth * static_cast<double>(period_ns)),
                unit != last_unit_);
  unit_ = last_unit_ = unit;
  earning_ = true;
  owing_ = false;
}

Nanoseconds Stream::threshold_ns() const {
  if (prompt_) return kLump / 10;
  // Many pauses: it is their cost that is to be seen.
  if (pause_rate_ > 0) return kThresholdUniformPause;
  return cadence_.threshold_ns();
}

double Stream::check_for_spinning() {
  surveyed_ = true;
  const double share = parts_.read_target ? spinning_.share(parts_.read_target) : 0;
  spin_ = share > kSpinning;
  if (spin_) cadence_.waits_by_spinning();
  return share;
}

Nanoseconds Stream::open_debt_ns() const {
  if (!owing_) return 0;
  const auto could_pay = [this](const Ledger::Debt& debt) {
    // Where cores are not short it may be we who have the core at this moment.
    const bool waits_for_us =
        debt.state == ThreadState::waiting_for_core && !cadence_.oversubscribed();
    return debt.state == ThreadState::running || waits_for_us ||
           parts_.pauser.standing(debt.thread);
  };
  Nanoseconds sum_ns = 0;
  for (const Ledger::Debt& debt : ledger_.debts()) {
    if (could_pay(debt) && debt.debt_ns > threshold_ns()) sum_ns += debt.debt_ns;
  }
  return sum_ns;
}

void Stream::end() {
  cadence_.passed(parts_.clock.now(), !owing_);
  earning_ = owing_ = false;
  pause_rate_ = 0;
  prompt_ = false;
  unit_.reset();
  credit_.end();
  if (executed_) return;
  const Nanoseconds now_ns = parts_.clock.now();
  for (const Ledger::Debt& debt : ledger_.debts()) {
    if (parts_.pauser.pausing(debt.thread)) parts_.pauser.set_debt(debt.thread, 0, now_ns);
  }
}

}  // namespace causalctl::causal
