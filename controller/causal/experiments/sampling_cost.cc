#include "controller/causal/experiments/sampling_cost.h"

#include <algorithm>

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kLongest = 10 * kMillisecond;
constexpr Nanoseconds kUnmeasured = 4 * kMillisecond;

SamplingCost measure(const Calibration& with, const std::optional<Interval>& sample_ns,
                     Nanoseconds period_ns, Nanoseconds budget_ns) {
  perf::EventSource& session = with.parts.session;
  session.set_period(period_ns);
  const Pairs pairs = alternate(with, budget_ns, [&](bool on) {
    session.enable_sampling(on);
    return plain_period(with, budget_ns / 6);
  });
  session.enable_sampling(true);
  const auto of_samples = cost_of_samples(sample_ns, period_ns);
  return {period_ns, known_cost(of_samples, cost_interval_of(pairs)),
          of_samples ? of_samples->low : 0};
}

}  // namespace

Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable) {
  const double factor = std::max(cost / affordable, 1.0);
  const double period_ns = static_cast<double>(measured_ns) * factor;
  return std::clamp(static_cast<Nanoseconds>(period_ns), kFinestPeriod, kLongest);
}

std::optional<Interval> cost_of_samples(const std::optional<Interval>& sample_ns,
                                        Nanoseconds period_ns) {
  if (!sample_ns) return std::nullopt;
  const auto each_ns = static_cast<double>(period_ns);
  return Interval{sample_ns->value / each_ns, sample_ns->low / each_ns, sample_ns->high / each_ns};
}

std::optional<Interval> known_cost(const std::optional<Interval>& of_samples,
                                   const std::optional<Interval>& by_rates) {
  if (!of_samples) return by_rates;
  return by_rates && by_rates->low > of_samples->high ? by_rates : of_samples;
}

SamplingCost choose_period(const Calibration& with, const std::optional<Interval>& sample_ns,
                           double affordable, Nanoseconds shortest_ns, Nanoseconds budget_ns) {
  const auto of_samples = cost_of_samples(sample_ns, shortest_ns);
  const Nanoseconds first_ns =
      of_samples
          ? std::max(affordable_period(shortest_ns, of_samples->value, affordable), shortest_ns)
          : shortest_ns;
  const SamplingCost first = measure(with, sample_ns, first_ns, budget_ns / 2);
  if (!first.slower) {
    const Nanoseconds period_ns = std::max(shortest_ns, kUnmeasured);
    with.parts.session.set_period(period_ns);
    return {period_ns, std::nullopt, 0};
  }
  const Nanoseconds period_ns = affordable_period(first_ns, first.slower->value, affordable);
  if (period_ns <= first_ns) return first;
  return measure(with, sample_ns, period_ns, budget_ns / 2);
}

}  // namespace causalctl::causal
