// The finding is about the first unit that is worth optimising, or that hurts. It is the statement
// with the least error relative to its effect, or one that is nearly as certain and needs less
// speedup; if possible one with a larger effect than baselines have on each other
// (docs/report-format.md, "text").
#include "controller/causal/analysis/finding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace causalctl::causal {
namespace {

using report::CurvePoint;
using report::Finding;
using report::ProgressResult;
using report::Report;
using report::UnitResult;
using report::Verdict;

constexpr double kAsCertain = 2;  // times the least relative error

struct Statement {
  double speedup = 0;
  Interval effect;

  double relative_error() const { return (effect.high - effect.low) / size(); }
  double size() const { return std::abs(effect.value); }
};

// Returns whether the curve is straight. If it is not, as for a unit that saturates, the slope
// through the origin is true of no speedup, however certain it is.
bool is_straight(const UnitResult& unit) {
  return std::all_of(unit.summary.begin(), unit.summary.end(), [&](const CurvePoint& pool) {
    return unit.slope->low * pool.speedup <= pool.effect.high &&
           unit.slope->high * pool.speedup >= pool.effect.low;
  });
}

// Returns what the measurements certainly say and what is possible: the pools and, if the curve is
// straight, the slope. The slope is stated for a small speedup, not for the end of the curve.
// Effects of up to `null_bound` are passed over, if there are others.
std::vector<Statement> statements(const UnitResult& unit, double null_bound) {
  const Interval& slope = *unit.slope;
  const Statement by_slope = {
      kSmallSpeedup,
      {kSmallSpeedup * slope.value, kSmallSpeedup * slope.low, kSmallSpeedup * slope.high}};
  std::vector<Statement> all;
  if (is_straight(unit)) all.push_back(by_slope);
  for (const CurvePoint& pool : unit.summary) all.push_back({pool.speedup, pool.effect});
  std::erase_if(all, [&](const Statement& one) {
    const bool faster = unit.verdict == Verdict::optimise;
    const bool certain = faster ? one.effect.low > 0 : one.effect.high < 0;
    return !certain || (unit.ceiling && one.effect.value > *unit.ceiling * one.speedup);
  });
  if (all.empty()) all.push_back(by_slope);  // the verdict was given for the slope
  const auto says_much = [null_bound](const Statement& one) { return one.size() > null_bound; };
  if (std::any_of(all.begin(), all.end(), says_much)) std::erase_if(all, std::not_fn(says_much));
  return all;
}

// Returns, of the statements that are about as certain as the most certain one, that with the
// smallest speedup, which is the easiest to reach.
Statement best_statement(const UnitResult& unit, double null_bound) {
  std::vector<Statement> all = statements(unit, null_bound);
  const auto less_error = [](const Statement& a, const Statement& b) {
    return a.relative_error() < b.relative_error();
  };
  const double least = std::min_element(all.begin(), all.end(), less_error)->relative_error();
  std::erase_if(all,
                [&](const Statement& one) { return one.relative_error() > kAsCertain * least; });
  return *std::min_element(all.begin(), all.end(), [](const Statement& a, const Statement& b) {
    return a.speedup < b.speedup;
  });
}

Finding finding_of_unit(const UnitResult& unit, const ProgressResult& point) {
  auto [speedup, effect] = best_statement(unit, null_bound(point.null_effect));
  // No unit can give more than its ceiling (model.h), so the interval is cut off there.
  if (unit.ceiling) {
    effect.high = std::min(effect.high, std::max(effect.value, *unit.ceiling * speedup));
  }
  Finding finding;
  finding.kind =
      unit.verdict == Verdict::optimise ? Finding::Kind::optimise : Finding::Kind::contention;
  finding.point = point.name;
  finding.latency = point.latency;
  finding.unit = unit.unit;
  if (unit.is_line) finding.function = unit.function;
  finding.speedup = speedup;
  finding.effect = effect;
  return finding;
}

bool has_verdict(const Report& report, Verdict verdict) {
  return std::any_of(report.progress.begin(), report.progress.end(), [&](const auto& point) {
    return std::any_of(point.units.begin(), point.units.end(),
                       [&](const UnitResult& unit) { return unit.verdict == verdict; });
  });
}

}  // namespace

double null_bound(const std::optional<Interval>& null) {
  return null ? std::max(std::abs(null->low), std::abs(null->high)) : 0;
}

Finding finding_of(const Report& report) {
  for (const ProgressResult& point : report.progress) {
    const auto best = std::find_if(point.units.begin(), point.units.end(),
                                   [](const UnitResult& unit) { return !unit.everybodys_caller; });
    if (best == point.units.end()) continue;
    if (best->verdict != Verdict::optimise && best->verdict != Verdict::contention) continue;
    return finding_of_unit(*best, point);
  }
  Finding none;
  if (has_verdict(report, Verdict::optimise)) {
    none.kind = Finding::Kind::only_callers;
  } else if (has_verdict(report, Verdict::no_effect)) {
    none.kind = Finding::Kind::no_effect;
  }
  return none;
}

}  // namespace causalctl::causal
