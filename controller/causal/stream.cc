#include "controller/causal/stream.h"

#include <algorithm>
#include <utility>

#include "controller/causal/intrusion.h"

namespace causalctl::causal {
namespace {

// Between drains. Shorter would cost the target more where no core is idle; the ledger's rules keep
// a late pause right (docs/virtual-time.md).
constexpr Nanoseconds kTick = 2 * kMillisecond;

// A debt below the threshold waits for more: a pause costs the target a signal and two context
// switches. What they cost, known only on average, shall be a small part of the pause.
constexpr Nanoseconds kShortestPause = 500 * kMicrosecond;
constexpr int kPausePerCost = 20;

constexpr std::size_t kMaxLatencies = 100'000;

}  // namespace

Stream::Stream(StreamParts parts)
    : parts_(std::move(parts)),
      ledger_(parts_.session.limits().wake_edges ? Ledger::BlindCredit::none
                                                 : Ledger::BlindCredit::full),
      settle_threshold_ns_(std::max(kShortestPause, kPausePerCost * parts_.shot_cost_ns)) {}

Stream::Step Stream::step() {
  Nanoseconds now_ns = parts_.clock.now();
  if (next_tick_ns_ == 0) next_tick_ns_ = now_ns;
  parts_.clock.sleep_until(next_tick_ns_);
  now_ns = parts_.clock.now();
  const Step result{now_ns - next_tick_ns_};
  next_tick_ns_ = std::max(next_tick_ns_ + kTick, now_ns + kTick / 2);

  // Events first, then pauses: a pause that ended before an event of its thread is then known.
  const auto events = parts_.session.drain(now_ns);
  const auto paid = parts_.pauser.collect(now_ns);
  auto next_paid = paid.begin();
  const auto pay_until = [&](Nanoseconds time_ns) {
    for (; next_paid != paid.end() && next_paid->end_ns <= time_ns; ++next_paid) {
      note_latency(*next_paid);
      ledger_.pay(next_paid->tid, next_paid->end_ns - next_paid->start_ns + next_paid->cost_ns);
    }
  };
  for (const perf::Event& event : events) {
    pay_until(perf::time_of(event));
    std::visit([this](const auto& each) { apply(each); }, event);
  }
  pay_until(now_ns + kSecond);
  settle(now_ns);
  parts_.attribution.absorb();
  return result;
}

void Stream::apply(const perf::SampleEvent& event) {
  cpu_time_ns_ += event.period_ns;
  ledger_.ran(event.thread.tid);
  if (near_breakpoint(event)) ++near_breakpoint_;
  const Attribution::Charge charge = parts_.attribution.charge(event);
  if (charge.outcome != Attribution::Outcome::unit) return;
  if (!parts_.sampled_points.empty()) {
    const Unit& unit = parts_.attribution.unit(charge.unit);
    for (const auto& [place, tag] : parts_.sampled_points) {
      const std::string full = unit.file + ":" + std::to_string(unit.line);
      if (unit.name == place || full.ends_with("/" + place)) {
        visit(tag, event.thread.tid, event.time_ns);
      }
    }
  }
  if (charge.unit != unit_) return;
  ++samples_in_unit_;
  if (!earning_ || speedup_ == 0) return;
  ledger_.earn(event.thread.tid,
               static_cast<Nanoseconds>(speedup_ * static_cast<double>(event.period_ns)));
  owing_ = true;
  last_earned_at_ns_ = event.time_ns;
}

bool Stream::near_breakpoint(const perf::SampleEvent& event) const {
  if (event.callers.empty() || event.in_kernel) return false;
  return std::any_of(parts_.breakpoints.begin(), parts_.breakpoints.end(), [&](Address breakpoint) {
    return breakpoint / kCacheLine == event.callers.front() / kCacheLine;
  });
}

void Stream::apply(const perf::SwitchEvent& event) {
  const Tid tid = event.thread.tid;
  if (event.kind == perf::SwitchKind::in) {
    ledger_.switched_in(tid, event.cpu, event.time_ns);
  } else {
    ledger_.switched_out(tid, event.cpu, event.time_ns,
                         event.kind == perf::SwitchKind::out_preempted, parts_.pauser.pausing(tid));
  }
}

void Stream::apply(const perf::WakeEvent& event) {
  // In a hardware interrupt the running thread is only its victim. A softirq may be: but it may
  // also be the thread's own packet on its way through the loopback device, which is more frequent.
  if (event.context == perf::WakeContext::hardirq) return;
  ledger_.woken(event.woken, event.waker.tid, event.time_ns);
}

void Stream::apply(const perf::VisitEvent& event) {
  visit(event.tag, event.thread.tid, event.time_ns);
}

void Stream::visit(std::uint32_t tag, Tid thread, Nanoseconds time_ns) {
  if (time_ns < began_at_ns_) return;
  parts_.counters.visit(tag, thread, time_ns - ledger_.local(thread) - began_at_ns_);
}

void Stream::apply(const perf::ThreadStartEvent& event) {
  ledger_.start_thread(event.thread.tid, event.parent.tid, event.time_ns);
  parts_.pauser.add_thread(event.thread.tid);
}

void Stream::apply(const perf::ThreadExitEvent& event) {
  ledger_.end_thread(event.thread.tid);
  parts_.pauser.remove_thread(event.thread.tid);
  parts_.counters.thread_ended(event.thread.tid);
}

void Stream::apply(const perf::MapEvent& /*event*/) { parts_.attribution.mappings_changed(); }

void Stream::apply(const perf::ExecEvent& /*event*/) { executed_ = true; }

void Stream::settle(Nanoseconds now_ns) {
  if (!owing_) return;
  for (const Ledger::Debt& debt : ledger_.debts()) {
    const bool pausing = parts_.pauser.pausing(debt.thread);
    // Never arm a thread that is not on a core: its shot would fire right after the wake-up, before
    // the credit of that wake-up is known.
    if (pausing || (debt.state == ThreadState::running && debt.debt_ns > settle_threshold_ns_)) {
      if (!pausing) asked_for_sample_at_ns_[debt.thread] = last_earned_at_ns_;
      parts_.pauser.set_debt(debt.thread, debt.debt_ns, now_ns);
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

void Stream::begin_counting() {
  ledger_.reset();
  parts_.counters.start();
  began_at_ns_ = parts_.clock.now();
}

void Stream::begin(UnitId unit, double speedup) {
  begin_counting();
  unit_ = unit;
  speedup_ = speedup;
  earning_ = true;
  owing_ = false;
  samples_in_unit_ = 0;
}

Nanoseconds Stream::open_debt_ns() const {
  Nanoseconds largest_ns = 0;
  if (!owing_) return largest_ns;
  for (const Ledger::Debt& debt : ledger_.debts()) {
    if (debt.state == ThreadState::running || parts_.pauser.standing(debt.thread)) {
      largest_ns = std::max(largest_ns, debt.debt_ns);
    }
  }
  return largest_ns > settle_threshold_ns_ ? largest_ns : 0;
}

void Stream::end() {
  earning_ = owing_ = false;
  unit_.reset();
  const Nanoseconds now_ns = parts_.clock.now();
  for (const Ledger::Debt& debt : ledger_.debts()) {
    if (parts_.pauser.pausing(debt.thread)) parts_.pauser.set_debt(debt.thread, 0, now_ns);
  }
}

}  // namespace causalctl::causal
