#include "controller/causal/experiments/set_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "controller/base/log.h"
#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/experiments/measure_pacing.h"
#include "controller/causal/experiments/measure_pause_cost.h"
#include "controller/causal/experiments/sampling_cost.h"
#include "controller/session/write_or_end.h"

namespace causalctl::causal {
namespace {

// Few waits end by external wake-ups: at most this many a second, or this share of all waits.
constexpr double kFewWaits = 10;
constexpr double kFewOfWaits = 0.1;
constexpr Nanoseconds kLongEnough = kSecond / 2;  // to tell how waits end
constexpr double kHardlyWaits = 0.05;             // share of the time

// How waits have ended, for long enough to tell.
struct WaitEnds {
  double externally = 0, by_known = 0;
  double passed_ns = 0;
};

struct SetUp {
  const Settings& settings;
  const EngineParts& parts;
  Engine& engine;
  Beginning since;
  LogWriter& log;
  Run& run;
  SamplingLimit& limit;
  bool copies_stacks;
  const std::function<bool()>& stop;

  Calibration calibration() const { return {engine, parts, stop}; }
  Nanoseconds passed_ns() const { return parts.clock.now() - since.at_ns; }
  Nanoseconds share_of_run_ns(double share, Nanoseconds longest_ns) const;
  void choose_period() const;
  void note(const SamplingCost& cost) const;
  std::optional<double> idle_share() const;
  Spare spare() const;
  WaitEnds wait_ends() const;
  void test_pace() const;
  void leave_pace_open(std::string_view why, std::string_view advice) const;
  void calibrate_pauses() const;
};

// Returns a share of the run's length, if that is known, or `longest_ns` if that is less.
Nanoseconds SetUp::share_of_run_ns(double share, Nanoseconds longest_ns) const {
  if (!settings.budget.duration_ns) return longest_ns;
  const auto all_ns = static_cast<double>(*settings.budget.duration_ns);
  return std::min(longest_ns, static_cast<Nanoseconds>(share * all_ns));
}

void SetUp::choose_period() const {
  const auto& sample_ns = copies_stacks ? parts.sample_with_stack_ns : parts.sample_ns;
  if (sample_ns) run.overhead.sample_ns = sample_ns->value;
  if (settings.sampling.period_ns) {
    const Nanoseconds period_ns = limit.allowed(*settings.sampling.period_ns);
    parts.session.set_period(period_ns);
    const auto of_samples = cost_of_samples(sample_ns, period_ns);
    return note({period_ns, of_samples, of_samples ? of_samples->low : 0});
  }
  const double affordable = short_of_cores(engine.ledger().core_wait_ns(), passed_ns())
                                ? kAffordableShortOfCores
                                : kAffordable;
  note(causal::choose_period(calibration(), sample_ns, affordable, limit.allowed(kFinestPeriod),
                             share_of_run_ns(0.08, 5 * kSecond)));
}

void SetUp::note(const SamplingCost& cost) const {
  run.overhead.period_ns = cost.period_ns;
  if (cost.slower) {
    run.overhead.slowdown = cost.slower->value;
    run.overhead.slowdown_low = cost.slower->low;
    run.overhead.slowdown_high = cost.slower->high;
    run.overhead.slowdown_by_samples = cost.by_samples;
  }
  log::verbose(
      "sampling period {:.1f} ms, a sample takes {:.1f} µs, cost {}", cost.period_ns / 1e6,
      run.overhead.sample_ns / 1e3,
      cost.slower ? fmt::format("{:.1f} %", 100 * cost.slower->value) : "unknown (too few visits)");
}

// Returns how idle the cores that the target may use have been since it is watched.
std::optional<double> SetUp::idle_share() const {
  const auto idle_ns = parts.idle_ns ? parts.idle_ns() : std::nullopt;
  if (!idle_ns || !since.idle_ns || passed_ns() <= 0) return std::nullopt;
  return static_cast<double>(*idle_ns - *since.idle_ns) /
         (static_cast<double>(passed_ns()) * parts.cores);
}

Spare SetUp::spare() const {
  const auto passed = static_cast<double>(passed_ns());
  return {static_cast<double>(engine.ledger().mean_wait_ns()) / passed,
          short_of_cores(engine.ledger().core_wait_ns(), passed_ns()), idle_share(),
          static_cast<double>(engine.ledger().stalled_ns()) / passed};
}

WaitEnds SetUp::wait_ends() const {
  const Ledger& ledger = engine.ledger();
  const auto numbers = [](std::uint64_t externally, std::uint64_t by_known, Nanoseconds passed_ns) {
    return WaitEnds{static_cast<double>(externally), static_cast<double>(by_known),
                    static_cast<double>(passed_ns)};
  };
  const auto with_peers = ledger.wait_ends_with_peers();
  const Nanoseconds lasted_ns = parts.clock.now() - with_peers.since_ns;
  if (with_peers.since_ns > 0 && lasted_ns >= kLongEnough) {
    return numbers(with_peers.externally, with_peers.by_known, lasted_ns);
  }
  return numbers(ledger.waits_ended_externally(), ledger.waits_ended_by_known(), passed_ns());
}

// Tests the pace, unless hardly any wait ends by an external wake-up, or threads hardly wait: then
// progress has no pace of its own.
void SetUp::test_pace() const {
  if (parts.counters.throughput().empty()) return;  // since a latency has no pace
  const WaitEnds ends = wait_ends();
  // Pauses save quota, so that what they cost is made up for by rarer stops.
  const bool near_quota = engine.cores().near_quota();
  const double most = settings.budget.max_slowdown_percent.value_or(100) / 100;
  const auto test = near_quota ? std::nullopt : gentle_test(spare(), most);
  log::verbose(
      "external wake-ups ended {} waits, threads {}, in {:.1f} s; cores idle {:.0f} %, {}short",
      ends.externally, ends.by_known, ends.passed_ns / kSecond, 100 * idle_share().value_or(NAN),
      !test               ? "too "
      : test->cores_short ? ""
                          : "not ");
  if (!settings.experiment.pace_test || ends.externally < kFewWaits * ends.passed_ns / kSecond)
    return;
  // Requests of a program that hardly waits for them queue up, so that their pace is its own. No
  // pause could show the contrary: any is longer than what the program has to spare.
  if (spare().waiting <= kHardlyWaits) return;
  if (!test) {
    const double of_all = ends.externally / (ends.externally + ends.by_known);
    if (of_all > kFewOfWaits) {
      near_quota ? leave_pace_open("a quota of CPU time stops it", "without the quota")
                 : leave_pace_open("cores are short", "while the machine is less busy");
    }
    return;
  }
  run.pacing = measure_pacing(calibration(), *test, share_of_run_ns(0.08, 6 * kSecond));
  for (const Pacing& pacing : run.pacing) {
    log::verbose(
        "{}: {:.2f} of its rate [{:.2f}, {:.2f}] while paused for {:.2f} of the time; {:.2f} of it "
        "absorbed [{:.2f}, {:.2f}]",
        pacing.point, pacing.rate, pacing.low, pacing.high, pacing.paused_share, pacing.absorbed,
        pacing.absorbed_low, pacing.absorbed_high);
  }
  if (!stop()) {
    leave_pace_open("it is rare, threads could not be paused, or the controller was late",
                    "for longer");
  }
}

void SetUp::leave_pace_open(std::string_view why, std::string_view advice) const {
  for (const ThroughputCount& point : parts.counters.throughput()) {
    if (find_pacing(run, point.name) != nullptr) continue;
    run.pacing.push_back(untested(point.name));
    run.warnings.push_back(fmt::format(
        "could not determine whether {} waits for the program or comes at its own pace ({}). The "
        "intervals cover both cases, so also that nothing is gained. If you know that its source "
        "waits for answers, give --closed-loop; or profile {}",
        point.name, why, advice));
  }
}

// Measures the cost of a pause. It is not measured with --max-slowdown, because the target stands
// still for a third of the measurement; nor if all points come at their own pace, because their
// rates would not show the loss.
void SetUp::calibrate_pauses() const {
  const auto keep = [this](const PauseCost& cost) {
    engine.set_pause_cost(cost.cost_ns);
    run.overhead.pause_cost = cost;
  };
  if (settings.pause.cost_ns) {
    keep(given_pause_cost(*settings.pause.cost_ns));
    return;
  }
  keep(guessed_pause_cost(engine.pause_cost_ns()));
  if (settings.budget.max_slowdown_percent || all_at_own_pace(run)) return;
  const auto cost = measure_pause_cost(calibration(), share_of_run_ns(0.1, 10 * kSecond));
  if (cost) keep(*cost);
  log::verbose("a pause costs its thread {} ± {} µs besides, {}; {} µs were expected",
               run.overhead.pause_cost.cost_ns / kMicrosecond,
               run.overhead.pause_cost.error_ns / kMicrosecond,
               cost ? fmt::format("measured with pauses of {:.1f} ms", cost->length_ns / 1e6)
                    : "not measured (too few visits)",
               parts.shot_cost_ns / kMicrosecond);
}

}  // namespace

Beginning beginning_of(const EngineParts& parts) {
  return {parts.clock.now(), parts.idle_ns ? parts.idle_ns() : std::nullopt};
}

void set_up(const Settings& settings, const EngineParts& parts, Engine& engine,
            const Beginning& since, LogWriter& log, Run& run, SamplingLimit& limit,
            bool copies_stacks, const std::function<bool()>& stop) {
  const SetUp steps{settings, parts, engine, since, log, run, limit, copies_stacks, stop};
  steps.choose_period();
  steps.test_pace();
  session::write_or_end(run, [&] { log.pacing(run); });
  steps.calibrate_pauses();
}

}  // namespace causalctl::causal
