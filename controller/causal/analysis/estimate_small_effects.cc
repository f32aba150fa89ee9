#include "controller/causal/analysis/estimate_small_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace causalctl::causal {
namespace {

using report::ProgressResult;
using report::UnitResult;
using report::Verdict;

constexpr std::uint64_t kFewestSamples = 10;
constexpr Nanoseconds kUsualPeriod = kMillisecond;

constexpr WarningKind<std::string> kTooFew{
    "{}: too few experiments to say anything; profile for longer (--duration)"};
constexpr WarningKind<std::string, std::string, std::string> kNothingKnown{
    "{}: the experiments tell nothing: {}; {}"};
constexpr WarningKind<std::string, double, std::uint64_t, double> kNothingLarger{
    "{}: no effect larger than {:.1f} % is possible here, by making any of the {} measured units "
    "faster ({:.0f} % of the samples)"};

double in_percent(double fraction) { return 100 * fraction; }

// Rounds up to the one digit that is shown, because a bound must not be rounded down.
double rounded_up(double value) { return std::ceil(value * 10) / 10; }

std::string what_to_do(const UnitResult& unit, Nanoseconds period_ns) {
  std::vector<std::string> ways = {"for longer (--duration)", "under more load"};
  if (unit.is_line) ways.emplace_back("by function (--unit function)");
  if (period_ns > kUsualPeriod) {
    ways.push_back(fmt::format("with more samples (--period {}ms)", kUsualPeriod / kMillisecond));
  }
  const std::string last = ways.back();
  ways.pop_back();
  return fmt::format("profile {} or {}", fmt::join(ways, ", "), last);
}

// Returns by how much experiments differ without any cause: half of the interval of baselines
// against baselines, if that is known.
double unexplained(const ProgressResult& point) {
  return point.null_effect ? (point.null_effect->high - point.null_effect->low) / 2 : 0;
}

// Returns why the experiments cannot support `bound`, which is that of `unit`; empty if they can.
std::string why_unknown(const ProgressResult& point, const UnitResult& unit, const Bound& bound) {
  const auto of_unit =
      fmt::format("{} ({:.0f} % of the samples)", unit.unit, in_percent(unit.sample_share));
  if (!was_sped_up(unit.tested)) {
    return fmt::format("{} was sampled in {} of its {} experiments with a speedup, {} times in all",
                       of_unit, unit.tested.sampled, unit.tested.experiments, unit.tested.samples);
  }
  if (!bound.by_experiments) {
    return fmt::format("of {} they leave open all of the {:.1f} % that its own time allows for",
                       of_unit, rounded_up(in_percent(bound.effect)));
  }
  if (unexplained(point) > bound.effect) {
    return fmt::format("without any speedup they agree only to ±{:.1f} points",
                       in_percent(unexplained(point)));
  }
  return "";
}

}  // namespace

bool was_sped_up(const report::Tested& tested) {
  return 2 * tested.sampled >= tested.experiments && tested.samples >= kFewestSamples;
}

Bound bound_of(const UnitResult& unit) {
  double high = unit.slope->high;
  for (const report::CurvePoint& pool : unit.summary) high = std::max(high, pool.effect.high);
  const double allowed = std::min(unit.ceiling.value_or(1), 1.0);
  if (was_sped_up(unit.tested) && high < allowed) return {std::max(high, 0.0), true};
  return {allowed, false};
}

// The largest effect that is still possible is a finding, too. It needs no correction for many
// units, because it is wrong only if the bound of the unit that truly has the largest effect is
// wrong.
std::optional<Warning> statement_of_small_effects(const ProgressResult& point,
                                                  Nanoseconds period_ns) {
  const bool any_other =
      std::any_of(point.units.begin(), point.units.end(),
                  [](const UnitResult& unit) { return unit.slope && !unit.everybodys_caller; });
  const UnitResult* largest = nullptr;
  Bound bound;
  double samples = 0;
  std::size_t measured = 0;
  for (const UnitResult& unit : point.units) {
    if (unit.verdict == Verdict::optimise) return std::nullopt;
    if (!unit.slope || (any_other && unit.everybodys_caller)) continue;
    ++measured;
    samples += unit.sample_share;
    const Bound of_unit = bound_of(unit);
    if (largest != nullptr && of_unit.effect <= bound.effect) continue;
    largest = &unit;
    bound = of_unit;
  }
  if (largest == nullptr) return Warning(kTooFew, point.name);
  if (const auto why = why_unknown(point, *largest, bound); !why.empty()) {
    return Warning(kNothingKnown, point.name, why, what_to_do(*largest, period_ns));
  }
  return Warning(kNothingLarger, point.name, rounded_up(in_percent(bound.effect)), measured,
                 in_percent(samples));
}

}  // namespace causalctl::causal
