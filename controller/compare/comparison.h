// Turns runs into a comparison: log ratios of blocks, for each metric. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compare/schedule.h"
#include "controller/report/compare/model.h"

namespace causalctl::compare {

inline constexpr double kAlpha = 0.05;

struct Metric {
  std::string name;
  report::MetricKind kind = report::MetricKind::wall;
  bool operator==(const Metric&) const = default;
};

struct Measured {
  Metric metric;
  double value = 0;  // in the unit of report::MetricKind; NaN: it could not be measured
};

struct RunResult {
  ScheduledRun scheduled;
  Nanoseconds start_ns = 0;  // since the start of the comparison
  std::vector<Measured> values;
};

// Returns log(B / A) of each complete block of the phase in which every run has this metric, above
// zero.
std::vector<double> log_ratios(const std::vector<RunResult>& runs, const Metric& metric,
                               Phase phase);

struct ComparisonOptions {
  std::uint64_t seed = 0;  // of the random order and of the resampling
  // True if a run ended because of its result, which needs other intervals.
  bool sequential = false;
  std::optional<double> fail_if_slower;
};

// Fills all fields except labels, reason, times, prediction, and warnings that only the caller
// knows. The metrics are those of the first run, in its order.
report::Comparison compare_runs(const std::vector<RunResult>& runs,
                                const ComparisonOptions& options);

// Compares the effect achieved with the predicted one: their difference, each with its own error.
void judge_prediction(report::Prediction& prediction);

}  // namespace causalctl::compare
