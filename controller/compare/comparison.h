// Runs → comparison: log ratios of blocks, per metric. Pure.
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
  double value = 0;  // units as in report::MetricKind
};

struct RunResult {
  ScheduledRun scheduled;
  Nanoseconds start_ns = 0;  // since the start of the comparison
  std::vector<Measured> values;
};

// log(B / A) of each whole block of the phase in which every run has this metric, above zero.
std::vector<double> log_ratios(const std::vector<RunResult>& runs, const Metric& metric,
                               Phase phase);

struct ComparisonOptions {
  std::uint64_t seed = 0;   // of the resampling, too
  bool sequential = false;  // the run ended when its result said so: intervals for that
  std::optional<double> fail_if_slower;
};

// Fills all but labels, reason, times, prediction and warnings that only the caller knows. The
// metrics are those of the first run, in its order.
report::Comparison compare_runs(const std::vector<RunResult>& runs,
                                const ComparisonOptions& options);

// Achieved against predicted: their difference, each with its own error.
void judge_prediction(report::Prediction& prediction);

}  // namespace causalctl::compare
