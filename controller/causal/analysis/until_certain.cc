#include "controller/causal/analysis/until_certain.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "controller/causal/analysis/estimate.h"

namespace causalctl::causal {
namespace {

using report::UnitResult;
using report::Verdict;

constexpr double kGrowth = 1.25;

bool within_bound(const Interval& one) {
  return one.low >= -kDecidedBound && one.high <= kDecidedBound;
}

// REQUIRES: both results are of the same unit.
bool is_decided(const UnitResult& at_level, const UnitResult& at_95) {
  if (!at_level.slope) return false;
  if (at_level.verdict == Verdict::optimise || at_level.verdict == Verdict::contention) {
    const double half = (at_95.slope->high - at_95.slope->low) / 2;
    return half <= std::max(kDecidedBound, kDecidedWidth * std::abs(at_95.slope->value));
  }
  return within_bound(*at_level.slope) &&
         std::all_of(at_level.summary.begin(), at_level.summary.end(),
                     [](const report::CurvePoint& pool) { return within_bound(pool.effect); });
}

bool point_decided(const report::ProgressResult& at_level, const report::ProgressResult& at_95,
                   const std::string& only_unit) {
  std::vector<const UnitResult*> units;
  for (const UnitResult& unit : at_level.units) {
    const bool to_decide =
        only_unit.empty() ? unit.sample_share >= kShareToDecide : unit.unit == only_unit;
    if (to_decide) units.push_back(&unit);
  }
  std::stable_sort(units.begin(), units.end(), [](const UnitResult* a, const UnitResult* b) {
    return a->samples > b->samples;
  });
  if (units.size() > kUnitsToDecide) units.resize(kUnitsToDecide);
  return !units.empty() && std::all_of(units.begin(), units.end(), [&](const UnitResult* unit) {
    const auto same = std::find_if(at_95.units.begin(), at_95.units.end(),
                                   [&](const UnitResult& one) { return one.unit == unit->unit; });
    return same != at_95.units.end() && is_decided(*unit, *same);
  });
}

}  // namespace

bool InterimAnalyses::due(std::size_t experiments) {
  if (experiments < next_) return false;
  ++analyses_;
  next_ = static_cast<std::size_t>(std::ceil(static_cast<double>(experiments) * kGrowth));
  return true;
}

double InterimAnalyses::level() const {
  const double k = static_cast<double>(std::max<std::size_t>(analyses_, 1));
  return kErrorOfAnalyses * 6 / (std::numbers::pi * std::numbers::pi * k * k);
}

bool decided(const report::Report& at_level, const report::Report& at_95,
             const std::string& only_unit) {
  bool any_visited = false;
  for (std::size_t i = 0; i < at_level.progress.size(); ++i) {
    if (at_level.progress[i].visits == 0) continue;
    any_visited = true;
    if (!point_decided(at_level.progress[i], at_95.progress[i], only_unit)) return false;
  }
  return any_visited;
}

bool enough(Run so_far, const InterimAnalyses& analyses, const std::string& only_unit) {
  so_far.ended = true;  // since its samples are known
  // Smaller and smaller levels pay for repeated analyses of noise, which more experiments reduce.
  // They do not reduce the model's error, so it is left out.
  for (Experiment& each : so_far.experiments) each.model_error_ns = 0;
  return decided(estimate({so_far}, analyses.level()), estimate({so_far}), only_unit);
}

}  // namespace causalctl::causal
