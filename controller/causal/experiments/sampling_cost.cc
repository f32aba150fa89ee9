#include "controller/causal/experiments/sampling_cost.h"

#include <algorithm>

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kLongest = 10 * kMillisecond;
constexpr Nanoseconds kUnmeasured = 4 * kMillisecond;

SamplingCost measure(const Calibration& with, Nanoseconds period_ns, Nanoseconds budget_ns) {
  perf::EventSource& session = with.parts.session;
  session.set_period(period_ns);
  const Pairs pairs = alternate(with, budget_ns, [&](bool on) {
    session.enable_sampling(on);
    return plain_period(with, budget_ns / 6);
  });
  session.enable_sampling(true);
  const auto slower = cost_interval_of(pairs);
  if (!slower) return {period_ns, std::nullopt};
  return {period_ns, slower->value, slower->low, slower->high};
}

}  // namespace

Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable) {
  const double factor = std::max(cost / affordable, 1.0);
  const double period_ns = static_cast<double>(measured_ns) * factor;
  return std::clamp(static_cast<Nanoseconds>(period_ns), kFinestPeriod, kLongest);
}

SamplingCost choose_period(const Calibration& with, double affordable, Nanoseconds shortest_ns,
                           Nanoseconds budget_ns) {
  const SamplingCost shortest = measure(with, shortest_ns, budget_ns / 2);
  if (!shortest.cost) {
    const Nanoseconds period_ns = std::max(shortest_ns, kUnmeasured);
    with.parts.session.set_period(period_ns);
    return {period_ns, std::nullopt};
  }
  const Nanoseconds period_ns = affordable_period(shortest_ns, *shortest.cost, affordable);
  if (period_ns <= shortest_ns) return shortest;
  return measure(with, period_ns, budget_ns / 2);
}

}  // namespace causalctl::causal
