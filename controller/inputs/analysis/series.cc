#include "controller/inputs/analysis/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causalctl::inputs {
namespace {

using report::inputs::Of;

constexpr int kLinePoints = 33;

// No power is near a curve of 2ⁿ, which therefore has no band.
report::inputs::LinePoint line_point(const Fit& fit, double size) {
  const double cost = fit.curve.at(size);
  if (fit.curve.shape == Shape::exponential) return {size, cost, cost, cost};
  const double slow = fit.slowest.at(size);
  const double fast = fit.fastest.at(size);
  return {size, cost, std::min({cost, slow, fast}), std::max({cost, slow, fast})};
}

}  // namespace

Series series_of(std::span<const SizeRow> rows, CostUnit unit, Of of) {
  const auto number = static_cast<std::size_t>(unit);
  Series series;
  series.is_worst = of == Of::worst;
  double squares = 0;  // of the distances from the mean of each size, relative to it
  double freedom = 0;
  for (const SizeRow& row : rows) {
    const Cost& cost = of == Of::own ? row.own[number] : row.cost[number];
    const auto calls = static_cast<double>(row.calls);
    const double mean = static_cast<double>(cost.sum) / calls;
    const double worst = static_cast<double>(cost.max);
    series.points.push_back(
        {static_cast<double>(row.size), series.is_worst ? worst : mean, calls, 1});
    if (mean <= 0) continue;
    squares += std::max(0.0, cost.sum_of_squares / (mean * mean) - calls);
    freedom += calls - 1;
  }
  if (freedom > 0) series.variance = squares / freedom;
  return series;
}

std::string shape_words(const Fit& fit) {
  if (fit.verdict == Verdict::too_few) return {};
  switch (fit.curve.shape) {
    case Shape::constant:
      return "1";
    case Shape::logarithmic:
      return "log n";
    case Shape::linear:
      return "n";
    case Shape::linearithmic:
      return "n log n";
    case Shape::quadratic:
      return "n²";
    case Shape::cubic:
      return "n³";
    case Shape::exponential:
      return "2ⁿ";
    case Shape::power:
      return fmt::format("n^{:.2f}", fit.curve.exponent);
  }
  return {};
}

report::inputs::Growth growth_of(const Fit& fit) {
  report::inputs::Growth growth;
  growth.verdict = fit.verdict;
  growth.sizes = fit.sizes;
  growth.smallest = fit.smallest;
  growth.largest = fit.largest;
  if (fit.verdict == Verdict::too_few) return growth;
  growth.shape = shape_words(fit);
  growth.exponent = fit.exponent;
  const double ratio = fit.largest / fit.smallest;
  for (int i = 0; i < kLinePoints; ++i) {
    growth.line.push_back(
        line_point(fit, fit.smallest * std::pow(ratio, i / double{kLinePoints - 1})));
  }
  return growth;
}

}  // namespace causalctl::inputs
