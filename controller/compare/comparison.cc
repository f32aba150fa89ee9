#include "controller/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "controller/base/statistics.h"
#include "controller/compare/effect.h"
#include "controller/compare/mann_whitney.h"
#include "controller/compare/sequential.h"

namespace causalctl::compare {
namespace {

using report::ComparedMetric;
using report::Comparison;
using report::Gate;
using report::MetricKind;

constexpr std::size_t kRunsForDrift = 1000;

std::optional<double> value_of(const RunResult& run, const Metric& metric) {
  for (const Measured& each : run.values) {
    if (each.metric == metric && !std::isnan(each.value)) return each.value;
  }
  return std::nullopt;
}

std::vector<double> values_of(const std::vector<RunResult>& runs, const Metric& metric, Side side,
                              Phase phase = Phase::pairs) {
  std::vector<double> values;
  for (const RunResult& run : runs) {
    const auto value = value_of(run, metric);
    if (value && run.scheduled.phase == phase && run.scheduled.side() == side)
      values.push_back(*value);
  }
  return values;
}

std::optional<double> typical(const std::vector<double>& values, MetricKind kind) {
  if (values.empty()) return std::nullopt;
  const double value = statistics::trimmed_mean(values);
  if (kind != MetricKind::throughput) return value;
  return value > 0 ? std::optional(1 / value) : std::nullopt;
}

// Returns the interval in logarithms. nullopt if there are too few blocks, or if they differ by so
// much that an end bounds nothing (small counts may differ by factors).
std::optional<Interval> interval(const std::vector<double>& ratios, bool sequential,
                                 std::uint64_t seed) {
  if (ratios.empty()) return std::nullopt;
  const auto log = sequential ? std::optional(confidence_sequence(ratios, kAlpha))
                              : bootstrap(ratios, kAlpha, seed);
  if (!log || !std::isfinite(std::exp(log->high)) || !std::isfinite(log->low)) return std::nullopt;
  return log;
}

// Compares each run with the other runs of its side, over all phases: what remains is due to the
// machine.
void add_course(const std::vector<RunResult>& runs, const Metric& metric, ComparedMetric& result) {
  std::array<std::vector<double>, 2> logs;
  for (const RunResult& run : runs) {
    const auto value = value_of(run, metric);
    if (value && *value > 0) {
      logs[static_cast<std::size_t>(run.scheduled.side())].push_back(std::log(*value));
    }
  }
  std::vector<std::pair<double, double>> points;  // time and logarithm
  for (const RunResult& run : runs) {
    const auto value = value_of(run, metric);
    if (!value || *value <= 0) continue;
    const double centre = statistics::median(logs[static_cast<std::size_t>(run.scheduled.side())]);
    points.emplace_back(static_cast<double>(run.start_ns), std::log(*value) - centre);
    result.course.push_back(std::exp(points.back().second));
  }
  // The median slope, which single stalls do not move (Theil 1950, Sen 1968). A subset is enough if
  // there are very many runs.
  const std::size_t stride = 1 + points.size() / kRunsForDrift;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    for (std::size_t j = i + stride; j < points.size(); j += stride) {
      const double time = points[j].first - points[i].first;
      if (time > 0) slopes.push_back((points[j].second - points[i].second) / time);
    }
  }
  if (slopes.size() < 3) return;
  const double length = points.back().first - points.front().first;
  result.drift = std::exp(statistics::median(slopes) * length) - 1;
}

ComparedMetric compare_metric(const std::vector<RunResult>& runs, const Metric& metric,
                              const ComparisonOptions& options) {
  ComparedMetric result;
  result.name = metric.name;
  result.kind = metric.kind;
  const std::vector<double> a = values_of(runs, metric, Side::a);
  const std::vector<double> b = values_of(runs, metric, Side::b);
  // A comparison that ended in its first phase has measured A.
  result.a = typical(a.empty() ? values_of(runs, metric, Side::a, Phase::null) : a, metric.kind);
  result.b = typical(b, metric.kind);
  // A p-value is valid for one analysis, at the end.
  if (!a.empty() && !b.empty() && !options.sequential) result.p_value = mann_whitney(a, b).p_value;
  const std::vector<double> ratios = log_ratios(runs, metric, Phase::pairs);
  if (const auto log = interval(ratios, options.sequential, options.seed)) {
    result.effect = to_effect(*log);
    result.detectable = detectable(ratios, *log);
  }
  // The null phase has a fixed number of blocks, whatever rule ends the other one.
  const auto null = interval(log_ratios(runs, metric, Phase::null), false, options.seed);
  if (null) result.null = to_effect(*null);
  add_course(runs, metric, result);
  return result;
}

Gate judge_gate(double limit, const std::optional<Interval>& effect) {
  Gate gate;
  gate.limit = limit;
  // If B is slower by the fraction x, B/A = 1 + x and the effect is -x.
  if (!effect) return gate;
  if (effect->high < 0 && effect->value <= -limit) {
    gate.verdict = Gate::Verdict::failed;
  } else if (effect->low > -limit) {
    gate.verdict = Gate::Verdict::passed;
  }
  return gate;
}

std::size_t whole_blocks(const std::vector<RunResult>& runs, Phase phase) {
  std::map<std::size_t, std::size_t> counts;
  for (const RunResult& run : runs) {
    if (run.scheduled.phase == phase) ++counts[run.scheduled.block];
  }
  return static_cast<std::size_t>(std::count_if(
      counts.begin(), counts.end(), [](const auto& each) { return each.second == kRunsOfBlock; }));
}

void warn(Comparison& comparison) {
  for (const ComparedMetric& metric : comparison.metrics) {
    if (&metric != &comparison.metrics.front() && metric.kind != MetricKind::throughput &&
        metric.kind != MetricKind::latency) {
      continue;
    }
    if (metric.null && excludes_zero(*metric.null)) {
      std::string text = fmt::format(
          "{}: A against A shows an effect of {:.1f} % [{:.1f}, {:.1f}], where none is: believe no "
          "effect of that size; make runs longer, or the machine quieter",
          metric.name, 100 * metric.null->value, 100 * metric.null->low, 100 * metric.null->high);
      if (&metric == &comparison.metrics.front()) comparison.lead = text;
      comparison.warnings.push_back(std::move(text));
    }
  }
}

}  // namespace

std::vector<double> log_ratios(const std::vector<RunResult>& runs, const Metric& metric,
                               Phase phase) {
  struct Block {
    double sum = 0;  // of logarithms, B's less A's
    std::size_t runs = 0;
  };
  std::map<std::size_t, Block> blocks;
  for (const RunResult& run : runs) {
    const auto value = value_of(run, metric);
    if (run.scheduled.phase != phase || !value || *value <= 0) continue;
    Block& block = blocks[run.scheduled.block];
    block.sum += (run.scheduled.role == Side::b ? 1 : -1) * std::log(*value);
    ++block.runs;
  }
  std::vector<double> ratios;
  for (const auto& [number, block] : blocks) {
    if (block.runs == kRunsOfBlock) ratios.push_back(block.sum / kPairsOfBlock);
  }
  return ratios;
}

Comparison compare_runs(const std::vector<RunResult>& runs, const ComparisonOptions& options) {
  Comparison comparison;
  comparison.seed = options.seed;
  comparison.sequential = options.sequential;
  comparison.pairs = whole_blocks(runs, Phase::pairs) * kPairsOfBlock;
  comparison.null_pairs = whole_blocks(runs, Phase::null) * kPairsOfBlock;
  comparison.fewest_pairs = kPairsOfBlock * fewest_blocks(options.sequential);
  if (runs.empty()) return comparison;
  for (const Measured& each : runs.front().values) {
    comparison.metrics.push_back(compare_metric(runs, each.metric, options));
  }
  for (const RunResult& run : runs) {
    report::AbRun row = {run.scheduled.phase == Phase::null,
                         run.scheduled.role == Side::b,
                         run.scheduled.block,
                         run.start_ns,
                         {}};
    for (const Measured& each : runs.front().values) {
      row.values.push_back(value_of(run, each.metric));
    }
    comparison.runs.push_back(std::move(row));
  }
  if (options.fail_if_slower && !comparison.metrics.empty()) {
    comparison.gate = judge_gate(*options.fail_if_slower, comparison.metrics.front().effect);
  }
  warn(comparison);
  return comparison;
}

void judge_prediction(report::Prediction& prediction) {
  const Interval& predicted = prediction.predicted;
  const Interval& achieved = prediction.achieved;
  const double value = achieved.value - predicted.value;
  prediction.difference = {
      value, value - std::hypot(achieved.value - achieved.low, predicted.high - predicted.value),
      value + std::hypot(achieved.high - achieved.value, predicted.value - predicted.low)};
  prediction.agrees = prediction.difference.low <= 0 && prediction.difference.high >= 0;
}

}  // namespace causalctl::compare
