#include "controller/causal/analysis/precision.h"

#include <algorithm>
#include <cmath>

namespace causalctl::causal {
namespace {

constexpr std::uint64_t kEnoughTreatments = 20;

// Returns the unit with most samples that has a slope and is not everybody's caller.
const report::UnitResult* hottest(const report::ProgressResult& point) {
  const report::UnitResult* found = nullptr;
  for (const report::UnitResult& unit : point.units) {
    if (unit.everybodys_caller || !unit.slope) continue;
    if (found == nullptr || unit.samples > found->samples) found = &unit;
  }
  return found;
}

// Returns whether there are so many experiments that the interval of baselines against baselines
// shrinks as the root of their number. With few of them Student's t makes it much wider.
bool are_many(const report::ProgressResult& point) {
  std::uint64_t treatments = 0;
  for (const report::UnitResult& unit : point.units) treatments += unit.tested.experiments;
  return treatments >= kEnoughTreatments;
}

}  // namespace

double Precision::after(double times) const {
  const double root = std::sqrt(times);
  return std::max(std::hypot(by_chance / root, by_model), null_value + null_by_chance / root);
}

std::optional<double> Precision::times_for(double wanted) const {
  const double chance_left = wanted * wanted - by_model * by_model;
  if (chance_left <= 0 || wanted <= null_value) return std::nullopt;
  const double root =
      std::max(by_chance / std::sqrt(chance_left), null_by_chance / (wanted - null_value));
  return root * root;
}

std::optional<Precision> precision_of(const report::ProgressResult& point) {
  const report::UnitResult* unit = hottest(point);
  if (unit == nullptr) return std::nullopt;
  Precision precision;
  precision.unit = unit->unit;
  const double half = report::kToldSpeedup * (unit->slope->high - unit->slope->low) / 2;
  precision.by_model = std::min(report::kToldSpeedup * unit->slope_by_model, half);
  precision.by_chance = std::sqrt(half * half - precision.by_model * precision.by_model);
  if (const auto& null = point.null_effect) {
    if (are_many(point)) precision.null_by_chance = (null->high - null->low) / 2;
    if (excludes_zero(*null)) precision.null_value = std::abs(null->value);
  }
  return precision;
}

}  // namespace causalctl::causal
