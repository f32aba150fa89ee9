#include "controller/causal/analysis/estimate_small_effects.h"

#include <algorithm>

#include "controller/causal/analysis/bearing.h"
#include "controller/report/causal/finding_words.h"

namespace causalctl::causal {
namespace {

using report::ProgressResult;
using report::Reason;
using report::UnitResult;

constexpr std::uint64_t kFewestSamples = 10;

constexpr WarningKind<std::string> kTooFew{"{}: too few experiments to say anything"};
constexpr WarningKind<std::string, std::string> kNothingKnown{
    "{}: the experiments tell nothing: {}"};
constexpr WarningKind<std::string, double, std::uint64_t, double> kNothingLarger{
    "{}: no effect larger than {:.1f} % is possible here, by making any of the {} measured units "
    "faster ({:.0f} % of the samples)"};

// Returns why the experiments cannot support `bound`, which is that of `unit`.
std::optional<Reason> why_unknown(const ProgressResult& point, const UnitResult& unit,
                                  const Bound& bound) {
  Reason reason{Reason::Kind::open, unit.unit, bound.effect};
  reason.share = unit.sample_share;
  if (!was_sped_up(unit.tested)) {
    reason.kind = Reason::Kind::not_sped_up;
    reason.count = unit.tested.sampled;
    reason.of = unit.tested.experiments;
    reason.samples = unit.tested.samples;
    return reason;
  }
  if (!bound.by_experiments) return reason;
  // An effect can hide in what baselines may differ by, but not in what the profile costs.
  if (point.bearing.bound(0) <= bound.effect) return std::nullopt;
  return by_weight(point.bearing.bounds, 0).front();
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
SmallEffects small_effects_of(const ProgressResult& point) {
  const bool any_other =
      std::any_of(point.units.begin(), point.units.end(),
                  [](const UnitResult& unit) { return unit.slope && !unit.everybodys_caller; });
  SmallEffects small;
  Bound bound;
  for (const UnitResult& unit : point.units) {
    if (!unit.slope || (any_other && unit.everybodys_caller)) continue;
    ++small.measured;
    small.samples += unit.sample_share;
    const Bound of_unit = bound_of(unit);
    if (small.of != nullptr && of_unit.effect <= bound.effect) continue;
    small.of = &unit;
    bound = of_unit;
  }
  if (small.of == nullptr) {
    small.unknown = Reason{Reason::Kind::few_experiments, point.name};
  } else {
    small.unknown = why_unknown(point, *small.of, bound);
  }
  if (!small.unknown) small.most = bound.effect;
  return small;
}

Warning told_of(const SmallEffects& small, const std::string& point) {
  if (small.of == nullptr) return Warning(kTooFew, point);
  if (small.unknown) return Warning(kNothingKnown, point, report::words_of(*small.unknown));
  return Warning(kNothingLarger, point, report::rounded_up_percent(*small.most), small.measured,
                 100 * small.samples);
}

}  // namespace causalctl::causal
