#include "controller/causal/analysis/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/shell_quotes.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/analysis/estimate_effect.h"
#include "controller/causal/analysis/run_groups.h"

namespace causalctl::causal {
namespace {

constexpr double kTolerances[] = {0.005, 0.0501, 0.1001};
constexpr std::size_t kMostListed = 10;

bool is_near(const Experiment& experiment, const std::string& unit, double speedup,
             double tolerance) {
  return experiment.unit.name == unit && experiment.speedup > 0 && experiment.discarded.empty() &&
         std::abs(experiment.speedup - speedup) <= tolerance;
}

// Returns the runs with only those treatments of `unit` that are near `speedup`, as if they had had
// exactly that. Other units stay, because the noise is estimated from them, too.
std::vector<Run> narrowed(const std::vector<Run>& runs, const std::string& unit, double speedup,
                          double tolerance) {
  std::vector<Run> result = runs;
  for (Run& run : result) {
    std::erase_if(run.experiments, [&](const Experiment& one) {
      return one.unit.name == unit && one.speedup > 0 && !is_near(one, unit, speedup, tolerance);
    });
    for (Experiment& one : run.experiments) {
      if (is_near(one, unit, speedup, tolerance)) one.speedup = speedup;
    }
  }
  return result;
}

std::string list(const std::set<std::string>& names) {
  std::vector<std::string> some(names.begin(), names.end());
  if (some.size() > kMostListed) some.resize(kMostListed);
  return fmt::format("{}{}", fmt::join(some, ", "), names.size() > some.size() ? ", …" : "");
}

[[noreturn]] void refuse(const report::Report& report, const std::string& point,
                         const std::string& unit, double speedup) {
  std::set<std::string> points, units;
  bool point_known = false;
  for (const report::ProgressResult& result : report.progress) {
    points.insert(result.name);
    point_known = point_known || result.name == point;
    if (result.name != point) continue;
    for (const report::UnitResult& each : result.units) units.insert(each.unit);
  }
  if (!point_known) {
    throw UsageError(fmt::format("predict: the profile has no progress point {}", point),
                     fmt::format("it has: {}", list(points)));
  }
  if (!units.contains(unit)) {
    throw UsageError(fmt::format("predict: the profile has no experiments with {}", unit),
                     fmt::format("it has: {}", list(units)));
  }
  throw UsageError(
      fmt::format("predict: the profile has too few experiments with {} near {:.0f} % for {}", unit,
                  100 * speedup, point),
      fmt::format("profile with --fixed {} --speedup {:.0f}",
                  unit.find(' ') == std::string::npos ? unit : in_single_quotes(unit),
                  100 * speedup));
}

bool tried(const RunGroup& group, const std::string& point, const std::string& unit) {
  return std::any_of(group.runs.begin(), group.runs.end(), [&](const Run& run) {
    return std::any_of(run.experiments.begin(), run.experiments.end(), [&](const Experiment& one) {
      return is_near(one, unit, 1, 1) &&
             (was_counted(one, {point, false}) || was_counted(one, {point, true}));
    });
  });
}

// Returns the runs of the one group that tried the unit, since a prediction is about one program.
std::vector<Run> runs_for(const std::vector<Run>& runs, const std::string& point,
                          const std::string& unit) {
  std::vector<RunGroup> groups = group_runs(runs);
  if (groups.size() == 1) return std::move(groups.front().runs);
  std::vector<RunGroup> fitting;
  for (const RunGroup& group : groups) {
    if (tried(group, point, unit)) fitting.push_back(group);
  }
  if (fitting.size() == 1) return std::move(fitting.front().runs);
  throw UsageError(
      fmt::format("predict: {} of the {} groups of runs in the profile have experiments with {} "
                  "for {}, but it must be one:{}",
                  fitting.size(), groups.size(), unit, point,
                  list_of(fitting.empty() ? groups : fitting)),
      "take the lines of one run: grep '\"run\":\"ID\"' LOG > OTHER-LOG");
}

}  // namespace

PredictedEffect predicted_effect(const std::vector<Run>& all, const std::string& point,
                                 const std::string& unit, double speedup) {
  const std::vector<Run> runs = runs_for(all, point, unit);
  for (const double tolerance : kTolerances) {
    PredictedEffect found;
    found.lowest = found.highest = speedup;
    for (const Run& run : runs) {
      for (const Experiment& one : run.experiments) {
        if (!is_near(one, unit, speedup, tolerance)) continue;
        found.lowest = found.experiments == 0 ? one.speedup : std::min(found.lowest, one.speedup);
        found.highest = found.experiments == 0 ? one.speedup : std::max(found.highest, one.speedup);
        ++found.experiments;
      }
    }
    if (found.experiments < kFewestForSlope) continue;
    const report::Report report = estimate(narrowed(runs, unit, speedup, tolerance));
    for (const report::ProgressResult& result : report.progress) {
      if (result.name != point) continue;
      for (const report::UnitResult& each : result.units) {
        if (each.unit != unit || each.curve.empty()) continue;
        found.effect = each.curve.front().effect;
        return found;
      }
    }
  }
  refuse(estimate(runs), point, unit, speedup);
}

}  // namespace causalctl::causal
