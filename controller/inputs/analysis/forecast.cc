#include "controller/inputs/analysis/forecast.h"

#include <algorithm>
#include <cmath>

namespace causalctl::inputs {
namespace {

double times_of(std::span<const SizeRow> rows, std::size_t unit, bool own, const Curve& curve) {
  double now = 0;
  double then = 0;
  for (const SizeRow& row : rows) {
    const auto cost = static_cast<double>(own ? row.own[unit].sum : row.outermost[unit]);
    now += cost;
    const auto size = static_cast<double>(row.size);
    then += row.size == 0 || cost == 0 ? cost
                                       : cost * (curve.at(kForecastSizes * size) / curve.at(size));
  }
  return now > 0 ? then / now : 1;
}

void add_scaled(const Interval& one, double share, Interval& all) {
  all.value += share * one.value;
  all.low += share * one.low;
  all.high += share * one.high;
}

}  // namespace

Interval growth_times(std::span<const SizeRow> rows, CostUnit unit, bool own, const Fit& fit) {
  if (fit.verdict == Verdict::constant) return {1, 1, 1};
  const auto number = static_cast<std::size_t>(unit);
  const double value = times_of(rows, number, own, fit.curve);
  const double slow = times_of(rows, number, own, fit.slowest);
  const double fast = times_of(rows, number, own, fit.fastest);
  return {value, std::min({value, slow, fast}), std::max({value, slow, fast})};
}

report::inputs::Forecast forecast(const std::vector<Part>& parts) {
  report::inputs::Forecast best;
  Interval own;
  double own_share = 0;
  for (const Part& part : parts) {
    if (!part.is_own_certain || part.own_share <= 0) continue;
    add_scaled(part.own_times, part.own_share, own);
    own_share += part.own_share;
  }
  if (own_share > 0) {
    add_scaled({1, 1, 1}, std::max(0.0, 1 - own_share), own);
    best = {true, own, own_share, {}};
  }
  for (const Part& part : parts) {
    if (!part.is_certain || part.share <= 0) continue;
    Interval times;
    add_scaled(part.times, part.share, times);
    add_scaled({1, 1, 1}, std::max(0.0, 1 - part.share), times);
    if (!best.is_known || times.value > best.times.value) {
      best = {true, times, part.share, part.name};
    }
  }
  return best;
}

}  // namespace causalctl::inputs
