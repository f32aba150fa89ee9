#include "controller/causal/experiments/calibrate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/base/statistics.h"

namespace causalctl::causal {
namespace {

using Pairs = std::vector<std::pair<double, double>>;  // off, on

constexpr Nanoseconds kLongest = 10 * kMillisecond;
constexpr Nanoseconds kUnmeasured = 4 * kMillisecond;
constexpr Nanoseconds kPhase = 150 * kMillisecond;
constexpr std::uint64_t kPhaseVisits = 6;
constexpr double kUniformPauseRate = 0.6;
constexpr double kOfWaiting = 0.7;
constexpr double kGentlest = 0.05;  // less is lost in the noise of the rates
constexpr double kLeastGentle = 0.2;
constexpr double kFewIdle = 0.1;
constexpr double kMuchStalled = 0.05;
constexpr Nanoseconds kPacePhase = 300 * kMillisecond;
// Before it counts: more requests wait for the target in a uniform pause than without, and the
// difference must not be counted as lost, or in the next phase as gained.
constexpr Nanoseconds kPaceWarmUp = 100 * kMillisecond;
constexpr Nanoseconds kLongestPaceTest = 3;  // budgets, where it cannot be told yet
// Of the delay, by all threads together and, on average, by each that passes progress points: or
// the uniform pause has not paused the target.
constexpr double kPaidAtLeast = 0.8;
constexpr std::size_t kMaxPairs = 12;

ThroughputCount most_visited(const progress::Counters& counters) {
  ThroughputCount best;
  for (auto& count : counters.throughput()) {
    if (count.visits > best.visits) best = std::move(count);
  }
  return best;
}

// The progress period over one phase, by the point with the most visits; 0: fewer than two visits.
double visits_period(Engine& engine, const EngineParts& parts, Nanoseconds longest_ns,
                     const std::function<bool()>& stop) {
  const Nanoseconds start_ns = parts.clock.now();
  const auto enough = [&] {
    return stop() || (parts.clock.now() - start_ns >= kPhase &&
                      most_visited(parts.counters).visits >= kPhaseVisits);
  };
  engine.run_until(enough, start_ns + longest_ns, false);
  const ThroughputCount best = most_visited(parts.counters);
  if (best.visits < 2) return 0;
  return static_cast<double>(best.last_ns - best.first_ns) / static_cast<double>(best.visits - 1);
}

double phase_period(Engine& engine, const EngineParts& parts, Nanoseconds longest_ns,
                    const std::function<bool()>& stop) {
  engine.begin_counting();
  return visits_period(engine, parts, longest_ns, stop);
}

void end_uniform_pause(Engine& engine, const EngineParts& parts) {
  engine.end();
  const Nanoseconds patience_ns = parts.clock.now() + kSecond;
  engine.step(false);
  engine.run_until([&] { return parts.pauser.idle(); }, patience_ns, false);
}

struct Phase {
  double period_ns = 0;
  double pauses_per_ns = 0;  // of one thread, by its virtual time
  double pause_ns = 0;       // mean length
};

Phase uniform_pause_phase(Engine& engine, const EngineParts& parts, Nanoseconds longest_ns,
                          const std::function<bool()>& stop) {
  const Nanoseconds start_ns = parts.clock.now();
  const auto before = parts.pauser.totals();
  Phase phase;
  engine.begin_uniform_pause(kUniformPauseRate);
  phase.period_ns = visits_period(engine, parts, longest_ns, stop);
  const Nanoseconds delay_ns = engine.delay_ns();
  const Nanoseconds virtual_ns = parts.clock.now() - start_ns - delay_ns;
  end_uniform_pause(engine, parts);
  const auto after = parts.pauser.totals();
  const Nanoseconds paid_ns = after.paid_ns - before.paid_ns;
  const std::uint64_t pauses = after.pauses - before.pauses;
  if (paid_ns > 0 && pauses > 0 && virtual_ns > 0) {
    phase.pause_ns = mean_pause_ns(paid_ns, pauses);
    phase.pauses_per_ns = pauses_for(delay_ns, phase.pause_ns, engine.pause_cost_ns()) /
                          static_cast<double>(virtual_ns);
  }
  return phase;
}

// Periods of phases without and with something, in turn, the order changing from pair to pair, so
// that a drift does not look like a cost. `period(on)` runs one; 0: too few visits. The budget
// is overdrawn, up to twice, where the machine's stalls, or few visits, have left it with fewer
// pairs than say anything.
Pairs alternate(const EngineParts& parts, Nanoseconds budget_ns, const std::function<bool()>& stop,
                const std::function<double(bool)>& period) {
  const Nanoseconds deadline_ns = parts.clock.now() + budget_ns;
  Pairs pairs;
  bool off_first = true;
  const auto overdraft_ns = [&] {
    return !pairs.empty() && pairs.size() < kFewestPairs ? budget_ns : 0;
  };
  while (pairs.size() < kMaxPairs && parts.clock.now() < deadline_ns + overdraft_ns() && !stop()) {
    std::pair<double, double> pair;
    for (const bool on : {!off_first, off_first}) (on ? pair.second : pair.first) = period(on);
    off_first = !off_first;
    if (pair.first > 0 && pair.second > 0) pairs.push_back(pair);
  }
  return pairs;
}

std::vector<double> log_ratios(const Pairs& pairs) {
  std::vector<double> logs;
  for (const auto& [off, on] : pairs) logs.push_back(std::log(on / off));
  return logs;
}

// Of the mean of log(on/off): half of its 95 % interval, by Student's t.
double reach_of(const Pairs& pairs) { return statistics::half_interval_of_mean(log_ratios(pairs)); }

struct PacePhase {
  std::vector<double> rates;  // visits a second, of each throughput point
  double paused_share = 0;
  double waited = 0;  // see PacePair
  bool valid = true;
};

PacePhase pace_phase(Engine& engine, const EngineParts& parts, double pause_rate,
                     const std::function<bool()>& stop) {
  const auto pass = [&](Nanoseconds duration_ns) {
    engine.run_until(stop, parts.clock.now() + duration_ns, false);
  };
  const bool uniform = pause_rate > 0;
  uniform ? engine.begin_uniform_pause(pause_rate, mode::UniformPause::Timing::prompt)
          : engine.begin_counting();
  pass(kPaceWarmUp);
  engine.begin_window();
  const Nanoseconds start_ns = parts.clock.now();
  const Nanoseconds paid_before_ns = parts.pauser.totals().paid_ns;
  const Nanoseconds debt_before_ns = engine.ledger().mean_debt_ns();
  const Nanoseconds waited_before_ns = engine.ledger().mean_wait_ns();
  pass(kPacePhase);
  const auto wall_ns = static_cast<double>(parts.clock.now() - start_ns);
  PacePhase phase;
  phase.waited = static_cast<double>(engine.ledger().mean_wait_ns() - waited_before_ns) / wall_ns;
  for (const ThroughputCount& count : parts.counters.throughput()) {
    phase.rates.push_back(1e9 * static_cast<double>(count.visits) / wall_ns);
  }
  if (!uniform) return phase;
  const auto delay_ns = static_cast<double>(engine.delay_ns());
  const auto paid_each_ns =
      delay_ns - static_cast<double>(engine.ledger().mean_debt_ns() - debt_before_ns);
  phase.paused_share = paid_each_ns / wall_ns;
  end_uniform_pause(engine, parts);
  const auto paid_ns = static_cast<double>(parts.pauser.totals().paid_ns - paid_before_ns);
  phase.valid = std::min(paid_ns, paid_each_ns) > kPaidAtLeast * delay_ns;
  return phase;
}

bool none_unknown(const std::vector<Pacing>& all) {
  return std::none_of(all.begin(), all.end(),
                      [](const Pacing& pacing) { return pace_of(pacing) == Pace::unknown; });
}

SamplingCost measure(Engine& engine, const EngineParts& parts, Nanoseconds period_ns,
                     Nanoseconds budget_ns, const std::function<bool()>& stop) {
  parts.session.set_period(period_ns);
  const Pairs pairs = alternate(parts, budget_ns, stop, [&](bool on) {
    parts.session.enable_sampling(on);
    return phase_period(engine, parts, budget_ns / 6, stop);
  });
  parts.session.enable_sampling(true);
  SamplingCost cost{period_ns, cost_of_pairs(pairs)};
  if (!cost.cost) return cost;
  const double reach = reach_of(pairs);
  cost.low = (1 + *cost.cost) * std::exp(-reach) - 1;
  cost.high = (1 + *cost.cost) * std::exp(reach) - 1;
  return cost;
}

}  // namespace

std::optional<double> cost_of_pairs(const std::vector<std::pair<double, double>>& off_on_periods) {
  if (off_on_periods.size() < kFewestPairs) return std::nullopt;
  std::vector<double> logs = log_ratios(off_on_periods);
  std::sort(logs.begin(), logs.end());
  const std::size_t trim = logs.size() / 4;
  double sum = 0;
  for (std::size_t i = trim; i < logs.size() - trim; ++i) sum += logs[i];
  return std::exp(sum / static_cast<double>(logs.size() - 2 * trim)) - 1;
}

Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable) {
  const double factor = std::max(cost / affordable, 1.0);
  const double period_ns = static_cast<double>(measured_ns) * factor;
  return std::clamp(static_cast<Nanoseconds>(period_ns), kFinestPeriod, kLongest);
}

SamplingCost choose_period(Engine& engine, const EngineParts& parts, double affordable,
                           Nanoseconds shortest_ns, Nanoseconds budget_ns,
                           const std::function<bool()>& stop) {
  const SamplingCost shortest = measure(engine, parts, shortest_ns, budget_ns / 2, stop);
  if (!shortest.cost) {
    const Nanoseconds period_ns = std::max(shortest_ns, kUnmeasured);
    parts.session.set_period(period_ns);
    return {period_ns, std::nullopt};
  }
  const Nanoseconds period_ns = affordable_period(shortest_ns, *shortest.cost, affordable);
  if (period_ns <= shortest_ns) return shortest;
  return measure(engine, parts, period_ns, budget_ns / 2, stop);
}

std::optional<PauseCost> measure_pause_cost(Engine& engine, const EngineParts& parts,
                                            Nanoseconds budget_ns,
                                            const std::function<bool()>& stop) {
  double pauses_per_ns = 0;  // this and the next summed over the uniform phases
  double pause_ns = 0;
  double uniform_phases = 0;
  bool too_few_visits = false;
  const Pairs pairs = alternate(
      parts, budget_ns, [&] { return too_few_visits || stop(); },
      [&](bool uniform) {
        Phase phase;
        if (uniform) {
          phase = uniform_pause_phase(engine, parts, budget_ns / 4, stop);
          too_few_visits |= phase.pauses_per_ns <= 0;
        } else {
          phase.period_ns = phase_period(engine, parts, budget_ns / 6, stop);
        }
        too_few_visits |= phase.period_ns <= 0;
        if (uniform && !too_few_visits) {
          pauses_per_ns += phase.pauses_per_ns;
          pause_ns += phase.pause_ns;
          ++uniform_phases;
        }
        return too_few_visits ? 0 : phase.period_ns;
      });
  const auto loss = cost_of_pairs(pairs);
  if (!loss) return std::nullopt;
  // The error of few pairs is not known well itself: as far as its Student's t goes.
  return pause_cost_of(*loss, reach_of(pairs) / statistics::kNormal95,
                       pauses_per_ns / uniform_phases,
                       static_cast<Nanoseconds>(pause_ns / uniform_phases), engine.pause_cost_ns());
}

double gentle_rate(double waiting_share, double most) {
  return std::min(std::clamp(kOfWaiting * waiting_share, kGentlest, kLeastGentle), most);
}

std::optional<PaceTest> gentle_test(const Spare& spare, double most) {
  if (!spare.cores_short) return PaceTest{gentle_rate(spare.waiting, most), false};
  const double idle = spare.idle.value_or(0);
  if (idle < kFewIdle || spare.stalled > kMuchStalled) return std::nullopt;
  return PaceTest{gentle_rate(std::min(spare.waiting, idle), most), true};
}

std::vector<Pacing> measure_pacing(Engine& engine, const EngineParts& parts, const PaceTest& test,
                                   Nanoseconds budget_ns, const std::function<bool()>& stop) {
  const auto points = parts.counters.throughput();
  std::vector<std::vector<PacePair>> pairs(points.size());
  const auto pacing = [&] {
    std::vector<Pacing> all;
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto one = pacing_of(points[i].name, pairs[i], test.cores_short);
      if (one) all.push_back(std::move(*one));
    }
    return all;
  };
  const Nanoseconds begin_ns = parts.clock.now();
  for (bool uniform_first = false; !stop(); uniform_first = !uniform_first) {
    const Nanoseconds passed_ns = parts.clock.now() - begin_ns;
    if (passed_ns > kLongestPaceTest * budget_ns) break;
    // Or there is nothing to tell: a point that is never visited. Fewer pairs than say anything are
    // those of a short run, or of a machine that stalls.
    const bool some = !pairs.empty() && pairs.front().size() >= kFewestPairs;
    if (passed_ns > budget_ns && some && none_unknown(pacing())) break;
    PacePhase phases[2];  // without, with
    for (const bool uniform : {uniform_first, !uniform_first}) {
      phases[uniform ? 1 : 0] = pace_phase(engine, parts, uniform ? test.pause_rate : 0, stop);
    }
    if (stop()) break;
    if (!phases[1].valid) continue;
    for (std::size_t i = 0; i < points.size(); ++i) {
      pairs[i].push_back({phases[0].rates[i], phases[1].rates[i], phases[1].paused_share,
                          phases[0].waited, phases[1].waited});
    }
  }
  return pacing();
}

}  // namespace causalctl::causal
