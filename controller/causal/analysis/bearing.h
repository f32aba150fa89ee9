// What the checks of a run bear: how large an effect must be before the report may state it, and
// which checks failed (docs/estimator.md, "What a run bears"). Pure.
#pragma once

#include <optional>
#include <vector>

#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr double kManyDiscarded = 0.20;  // share of the experiments
// A loss of progress that the profile itself causes, from which it is said before any effect.
inline constexpr double kSlows = 0.10;

// Returns the largest effect that baselines, in which nothing is faster, may have on each other; 0
// if not known. An effect that is no larger may have the same cause, whatever its own interval
// says.
double null_bound(const std::optional<Interval>& null);

// Returns what the runs bear at a point that all of them counted. REQUIRES: the totals of `report`
// are summed.
report::Bearing bearing_of(const std::vector<const Run*>& runs, const report::Report& report,
                           const Point& point, const std::optional<Interval>& null);

// Returns what the runs bear for one unit. Samples take time where they are taken: of the time of a
// thread that is not in the unit none ends with the unit's. So of what samples take, no more can be
// gained than what is executed of the unit at a time, at most 1 (UnitResult::ceiling).
report::Bearing for_unit(report::Bearing bearing, const report::UnitResult& unit);

// Returns the first unit whose effect is certain by its own interval, and denied by what the runs
// bear; null if there is none.
const report::UnitResult* first_denied(const report::ProgressResult& point);
// Returns what the runs bear for that unit, or for any if there is none.
report::Bearing bearing_told(const report::ProgressResult& point);

// Returns the checks of the runs as a whole that failed. REQUIRES: as above.
std::vector<report::Reason> failed_checks(const report::Report& report);

// Returns the bounds, that which denies the largest effect at `speedup` first.
std::vector<report::Reason> by_weight(std::vector<report::Reason> bounds, double speedup);

// An effect that the measurements state: at `speedup` it is `effect`.
struct Statement {
  double speedup = 0;
  Interval effect;
};

// A slope alone is trusted up to this speedup.
inline constexpr double kSmallSpeedup = 0.1;

// Returns what is stated of the unit: of the pools and, where the curve is straight, the slope at
// kSmallSpeedup, that with the smallest speedup whose whole interval is beyond the bound and which
// the unit can give. Returns nullopt if there is none. REQUIRES a slope, and a bearing for the
// unit.
std::optional<Statement> statement_of(const report::UnitResult& unit,
                                      const report::Bearing& bearing);

}  // namespace causalctl::causal
