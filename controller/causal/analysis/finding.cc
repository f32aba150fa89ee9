// The finding is about the first unit that is worth optimising, or that hurts: its statement
// (bearing.h).
#include "controller/causal/analysis/finding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/estimate_small_effects.h"
#include "controller/causal/analysis/helps.h"
#include "controller/causal/analysis/precision.h"

namespace causalctl::causal {
namespace {

using report::Finding;
using report::ProgressResult;
using report::Reason;
using report::Report;
using report::UnitResult;
using report::Verdict;
using Kind = Reason::Kind;

bool is_certain(const UnitResult& unit) {
  return unit.verdict == Verdict::optimise || unit.verdict == Verdict::contention;
}

const UnitResult* first_of(const ProgressResult& point) {
  const auto first = std::find_if(point.units.begin(), point.units.end(),
                                  [](const UnitResult& unit) { return !unit.everybodys_caller; });
  return first == point.units.end() ? nullptr : &*first;
}

void state(const UnitResult& unit, const ProgressResult& point, Finding& finding) {
  const report::Bearing bearing = for_unit(point.bearing, unit);
  const auto statement = statement_of(unit, bearing);
  if (!statement) return;  // the verdict would not have been given
  finding.kind =
      unit.verdict == Verdict::optimise ? Finding::Kind::optimise : Finding::Kind::contention;
  finding.point = point.name;
  finding.latency = point.latency;
  finding.unit = unit.unit;
  if (unit.is_line) finding.function = unit.function;
  finding.speedup = statement->speedup;
  finding.effect = statement->effect;
  finding.bound = bearing.bound(finding.speedup);
  finding.reasons = by_weight(bearing.bounds, finding.speedup);
}

bool only_callers_have_an_effect(const ProgressResult& point) {
  return std::any_of(point.units.begin(), point.units.end(),
                     [](const UnitResult& unit) { return unit.verdict == Verdict::optimise; });
}

void add_reason_of_units(const ProgressResult& point, const SmallEffects& small,
                         std::vector<Reason>& reasons) {
  if (const UnitResult* denied = first_denied(point)) {
    const report::Bearing bearing = for_unit(point.bearing, *denied);
    const Reason bound = by_weight(bearing.bounds, report::kToldSpeedup).front();
    if (bound.kind != Kind::no_self_check) {
      reasons.push_back({Kind::below_bound, denied->unit, bearing.bound(report::kToldSpeedup)});
    }
    reasons.push_back(bound);
    return;
  }
  if (small.unknown) reasons.push_back(*small.unknown);
  const auto precision = precision_of(point);
  if (!precision || small.of == nullptr) return;
  if (point.pacing && point.pacing->pace == report::Pace::unknown) {
    reasons.push_back({Kind::pace_unknown, point.name});
  }
  reasons.push_back(
      {Kind::noise, precision->unit, std::hypot(precision->by_chance, precision->by_model)});
}

// Returns why nothing is stated of the point.
std::vector<Reason> reasons_at(const Report& report, const ProgressResult& point,
                               const SmallEffects& small) {
  std::vector<Reason> reasons;
  if (point.visits == 0) {
    const bool any_counts = report.experiments_discarded < report.experiments;
    reasons.push_back({any_counts ? Kind::not_visited : Kind::few_experiments, point.name});
  } else if (point.pacing && point.pacing->pace == report::Pace::own) {
    reasons.push_back({Kind::own_pace, point.name});
  } else {
    add_reason_of_units(point, small, reasons);
  }
  const std::vector<Reason> cores = cores_taken(report);
  reasons.insert(reasons.end(), cores.begin(), cores.end());
  return reasons;
}

// Says that nothing has an effect, or why nothing is known.
void state_nothing(const Report& report, const ProgressResult& point, Finding& finding) {
  finding.point = point.name;
  finding.latency = point.latency;
  const report::Bearing bearing = bearing_told(point);
  finding.bound = bearing.bound(report::kToldSpeedup);
  const SmallEffects small = small_effects_of(point);
  finding.measured = small.measured;
  finding.measured_share = small.samples;
  finding.most = small.most;
  if (only_callers_have_an_effect(point)) {
    finding.kind = Finding::Kind::only_callers;
    finding.most.reset();
    finding.helps = {{report::Help::Kind::scope}};
    return;
  }
  if (small.most && *small.most <= kNoEffect) {
    finding.kind = Finding::Kind::no_effect;
    finding.reasons = by_weight(bearing.bounds, report::kToldSpeedup);
    return;
  }
  finding.reasons = reasons_at(report, point, small);
  finding.helps = helps_of(report, point, small, finding.reasons);
}

}  // namespace

Finding finding_of(const Report& report) {
  Finding finding;
  for (const ProgressResult& point : report.progress) {
    const UnitResult* first = first_of(point);
    if (first == nullptr || !is_certain(*first)) continue;
    state(*first, point, finding);
    if (!finding.unit.empty()) break;
  }
  if (finding.unit.empty()) {
    const auto visited = std::find_if(report.progress.begin(), report.progress.end(),
                                      [](const ProgressResult& point) { return point.visits > 0; });
    if (visited != report.progress.end()) {
      state_nothing(report, *visited, finding);
    } else if (!report.progress.empty()) {
      state_nothing(report, report.progress.front(), finding);
    } else {
      finding.reasons = {{Kind::no_experiment}};
      finding.helps = {{report::Help::Kind::longer}};
    }
  }
  finding.failed = failed_checks(report);
  for (const ProgressResult& point : report.progress) {
    const auto& failed = point.bearing.failed;
    finding.failed.insert(finding.failed.end(), failed.begin(), failed.end());
  }
  return finding;
}

}  // namespace causalctl::causal
