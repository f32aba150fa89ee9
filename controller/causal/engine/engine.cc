#include "controller/causal/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/base/error.h"
#include "controller/causal/engine/intrusion.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kThresholdUniformPause = kMillisecond;
constexpr Nanoseconds kLump = kMillisecond;  // of a prompt uniform pause
constexpr double kSpread = 0.5;              // of a tick, from the shortest to the longest
constexpr Nanoseconds kDrawEvery = 50 * kMillisecond;

constexpr Nanoseconds kLongestUnchecked = kSecond;
constexpr Nanoseconds kLongestUncheckedWhole = 200 * kMillisecond;

constexpr double kSmooth = 2;  // sampling periods; see credit.h

}  // namespace

Engine::Engine(EngineParts parts, const EngineOptions& options)
    : parts_(std::move(parts)),
      one_unit_of_work_(options.one_unit_of_work),
      ledger_(parts_.session.limits().wake_edges ? Ledger::UnseenCredit::none
                                                 : Ledger::UnseenCredit::full,
              parts_.cores),
      cores_(parts_, ledger_, one_unit_of_work_ ? kLongestUncheckedWhole : kLongestUnchecked),
      under_quota_(options.under_quota),
      judge_(parts_.session),
      pause_cost_ns_(parts_.shot_cost_ns) {
  if (one_unit_of_work_) ledger_.count_all_as_visitors();
  cadence_.limit(options.longest_tick_ns);
  cadence_.limit_threshold(options.longest_threshold_ns);
  cadence_.fix_threshold(options.threshold_ns);
}

void Engine::start() {
  next_tick_ns_ = parts_.clock.now();
  cadence_.start(next_tick_ns_);
  cores_.start();
  if (under_quota_) cores_.assume_quota();
}

void Engine::step() {
  if (next_tick_ns_ == 0) start();
  parts_.clock.sleep_until(next_tick_ns_);
  const Nanoseconds now_ns = parts_.clock.now();
  wake_ups_.woke(now_ns, parts_.clock.core());
  // Closing the target's last tracepoint took 70 to 120 ms where it was measured. That is in the
  // step that sees the target's end, after which nobody can be paused too late.
  if (parts_.session.target_alive()) judge_.stepped(now_ns - next_tick_ns_);
  next_tick_ns_ = std::max(next_tick_ns_ + to_next_tick_ns(), now_ns + cadence_.tick_ns() / 2);

  // Events are drained before pauses are collected, so that a pause which ended before an event of
  // its thread is known by then.
  const auto events = parts_.session.drain(now_ns);
  paid_ = parts_.pauser.collect(now_ns);
  auto next_paid = paid_.begin();
  const auto pay_until = [&](Nanoseconds time_ns) {
    for (; next_paid != paid_.end() && next_paid->end_ns <= time_ns; ++next_paid) pay(*next_paid);
  };
  for (const perf::Event& event : events) {
    pay_until(perf::time_of(event));
    parts_.attribution.pass(event);
    std::visit([this](const auto& each) { apply(each); }, event);
  }
  pay_until(now_ns + kSecond);
  cores_.check_if_due(now_ns);
  lift(now_ns);
  request_pauses();
  parts_.attribution.absorb();
  redraw_periods();
}

void Engine::redraw_periods() {
  const Nanoseconds now_ns = parts_.clock.now();
  if (now_ns - drawn_at_ns_ <= kDrawEvery) return;
  parts_.session.jitter();
  parts_.attribution.lost(parts_.session.losses().records_lost, now_ns);
  drawn_at_ns_ = now_ns;
}

// Ticks are spread evenly by the golden ratio, the same in every run. If a target works for a
// moment every 2 ms, ticks in step with it might never find a thread on a core.
Nanoseconds Engine::to_next_tick_ns() const {
  if (!is_prompt()) return cadence_.tick_ns();
  constexpr double golden = 0.6180339887;
  const double spread = std::fmod(golden * static_cast<double>(wake_ups_.count()), 1.0) - 0.5;
  return static_cast<Nanoseconds>(static_cast<double>(kShortestTick) * (1 + kSpread * spread));
}

void Engine::lift(Nanoseconds now_ns) {
  auto* uniform_pause = std::get_if<mode::UniformPause>(&mode_);
  if (uniform_pause == nullptr) return;
  const auto due_ns = static_cast<Nanoseconds>(
      uniform_pause->rate * static_cast<double>(now_ns - uniform_pause->lifted_at_ns));
  if (is_prompt() && due_ns < kLump) return;  // all at the same time
  ledger_.lift(due_ns);
  uniform_pause->lifted_at_ns = now_ns;
  uniform_pause->owing = true;
}

bool Engine::is_owing() const {
  if (uniform() != nullptr) return uniform()->owing;
  return experiment() != nullptr && experiment()->owing;
}

void Engine::request_pauses() {
  if (!is_owing() || executed_) return;  // after exec the new program has no stub
  for (const Ledger::Debt& debt : ledger_.debts()) {
    const bool pausing = parts_.pauser.pausing(debt.thread);
    // A blocked thread is never armed: its shot would fire right after its wake-up, before the
    // credit of that wake-up is known. A thread that waits for a core is armed only if all threads
    // are to stand still; otherwise it may still earn what it owes.
    const bool gets_on_core = debt.state == ThreadState::running ||
                              (is_prompt() && debt.state == ThreadState::waiting_for_core);
    if (pausing || (gets_on_core && debt.debt_ns > threshold_ns())) {
      if (!pausing && earns()) latency_.asked(debt.thread, last_earned_at_ns_);
      // the present time, because time since the tick would count as delay of the shot
      parts_.pauser.set_debt(debt.thread, debt.debt_ns, parts_.clock.now());
    }
  }
}

void Engine::begin_window() {
  INVARIANT(!std::holds_alternative<mode::Idle>(mode_));
  INVARIANT(experiment() == nullptr || earns());
  begin_window(passed_ns());
}

// In virtual time: so what is in flight is as old as if the program had not been delayed.
Nanoseconds Engine::passed_ns() const {
  return parts_.clock.now() - window_from_ns_ - delay_ns() - quota_stopped_ns();
}

void Engine::begin_window(Nanoseconds passed_ns) {
  parts_.counters.start(passed_ns);
  window_from_ns_ = parts_.clock.now();
  window_lead_ns_ = ledger_.max_lead();
  window_stopped_ns_ = cores_.quota_stops().total_ns();
  samples_in_unit_ = 0;
}

void Engine::begin_counting() {
  INVARIANT(can_begin());
  cores_.check();
  const Nanoseconds passed_ns = this->passed_ns();
  ledger_.reset();
  mode_ = mode::Counting{};
  begin_window(passed_ns);
}

void Engine::begin_uniform_pause(double rate, mode::UniformPause::Timing timing) {
  INVARIANT(rate > 0 && rate < 1);
  begin_counting();
  cadence_.passed(window_from_ns_, true);
  mode_ = mode::UniformPause{rate, timing, window_from_ns_};
}

void Engine::begin_experiment(UnitId unit, double speedup, Nanoseconds period_ns) {
  INVARIANT(speedup >= 0 && speedup <= 1);
  begin_counting();
  if (parts_.pauser.polls_target()) cadence_.limit(kShortestTick);
  cadence_.passed(window_from_ns_, true);
  cadence_.update(window_from_ns_, ledger_.core_wait_ns(), ledger_.own_wait_ns() / parts_.cores);
  credit_.begin(speedup, static_cast<Nanoseconds>(kSmooth * static_cast<double>(period_ns)),
                unit != last_unit_);
  last_unit_ = unit;
  mode_ = mode::Experiment{unit};
}

void Engine::stop_earning() {
  INVARIANT(earns());
  std::get<mode::Experiment>(mode_).phase = mode::Experiment::Phase::paying;
}

void Engine::end() {
  INVARIANT(experiment() != nullptr || uniform() != nullptr);
  const Nanoseconds now_ns = parts_.clock.now();
  cadence_.passed(now_ns, !is_owing());
  mode_ = mode::Idle{};
  credit_.end();
  if (executed_) return;
  for (const Ledger::Debt& debt : ledger_.debts()) {
    if (parts_.pauser.pausing(debt.thread)) parts_.pauser.set_debt(debt.thread, 0, now_ns);
  }
}

Nanoseconds Engine::threshold_ns() const {
  if (is_prompt()) return kLump / 10;
  // A low threshold makes many pauses, whose cost is what a uniform pause shows.
  if (uniform() != nullptr) return kThresholdUniformPause;
  return cadence_.threshold_ns();
}

Nanoseconds Engine::open_debt_ns() const {
  if (!is_owing()) return 0;
  const auto could_pay = [this](const Ledger::Debt& debt) {
    // If cores are not short, the controller itself may have the core at this moment.
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

Nanoseconds Engine::delay_at_visit_ns() const {
  INVARIANT(one_unit_of_work_);
  return delay_at_visit_ns_;
}

void Engine::set_pause_cost(Nanoseconds cost_ns) {
  INVARIANT(cost_ns >= 0);
  pause_cost_ns_ = cost_ns;
}

double Engine::check_for_spinning() {
  const double share = spinning_.share(parts_.read_target);
  if (share > kSpinning) cadence_.waits_by_spinning();
  return share;
}

CoreTotals Engine::core_totals() const {
  CoreTotals totals = cores_.totals();
  totals.spin = cadence_.spinning();
  return totals;
}

}  // namespace causalctl::causal
