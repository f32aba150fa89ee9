#include "controller/causal/experiments/phases.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "controller/base/statistics.h"
#include "controller/causal/analysis/pacing.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kPhase = 150 * kMillisecond;
constexpr std::uint64_t kPhaseVisits = 6;
constexpr std::size_t kMaxPairs = 12;

ThroughputCount most_visited(const progress::Counters& counters) {
  ThroughputCount best;
  for (auto& count : counters.throughput()) {
    if (count.visits > best.visits) best = std::move(count);
  }
  return best;
}

std::vector<double> log_ratios(const Pairs& pairs) {
  std::vector<double> logs;
  for (const auto& [off, on] : pairs) logs.push_back(std::log(on / off));
  return logs;
}

}  // namespace

std::optional<double> cost_of_pairs(const Pairs& pairs) {
  if (pairs.size() < kFewestPairs) return std::nullopt;
  std::vector<double> logs = log_ratios(pairs);
  std::sort(logs.begin(), logs.end());
  const std::size_t trim = logs.size() / 4;
  double sum = 0;
  for (std::size_t i = trim; i < logs.size() - trim; ++i) sum += logs[i];
  return std::exp(sum / static_cast<double>(logs.size() - 2 * trim)) - 1;
}

double reach_of(const Pairs& pairs) { return statistics::half_interval_of_mean(log_ratios(pairs)); }

std::optional<Interval> cost_interval_of(const Pairs& pairs) {
  const auto cost = cost_of_pairs(pairs);
  if (!cost) return std::nullopt;
  const double reach = reach_of(pairs);
  return Interval{*cost, (1 + *cost) * std::exp(-reach) - 1, (1 + *cost) * std::exp(reach) - 1};
}

PhaseJudge::PhaseJudge(const Calibration& with)
    : with_(with), lost_before_(with.parts.session.losses().records_lost) {
  with.engine.begin_judging();
}

bool PhaseJudge::says_something() const {
  return with_.engine.verdict(with_.parts.session.losses().records_lost - lost_before_).empty();
}

std::optional<double> visits_period(const Calibration& with, Nanoseconds longest_ns) {
  const PhaseJudge judge(with);
  const Nanoseconds start_ns = with.parts.clock.now();
  const auto enough = [&] {
    return with.stop() || (with.parts.clock.now() - start_ns >= kPhase &&
                           most_visited(with.parts.counters).visits >= kPhaseVisits);
  };
  with.engine.run_until(enough, start_ns + longest_ns);
  if (!judge.says_something()) return std::nullopt;
  const ThroughputCount best = most_visited(with.parts.counters);
  if (best.visits < 2) return 0;
  return static_cast<double>(best.last_ns - best.first_ns) / static_cast<double>(best.visits - 1);
}

std::optional<double> plain_period(const Calibration& with, Nanoseconds longest_ns) {
  with.engine.begin_counting();
  return visits_period(with, longest_ns);
}

void end_uniform_pause(const Calibration& with) {
  with.engine.end();
  const Nanoseconds patience_ns = with.parts.clock.now() + kSecond;
  with.engine.step();
  with.engine.run_until([&] { return with.parts.pauser.idle(); }, patience_ns);
}

Pairs alternate(const Calibration& with, Nanoseconds budget_ns,
                const std::function<std::optional<double>(bool)>& period) {
  const Clock& clock = with.parts.clock;
  const Nanoseconds deadline_ns = clock.now() + budget_ns;
  Pairs pairs;
  bool off_first = true;
  const auto overdraft_ns = [&] {
    return !pairs.empty() && pairs.size() < kFewestPairs ? budget_ns : 0;
  };
  while (pairs.size() < kMaxPairs && clock.now() < deadline_ns + overdraft_ns() && !with.stop()) {
    std::pair<double, double> pair;
    for (const bool on : {!off_first, off_first}) {
      (on ? pair.second : pair.first) = period(on).value_or(0);
    }
    off_first = !off_first;
    if (pair.first > 0 && pair.second > 0) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace causalctl::causal
