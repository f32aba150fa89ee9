#include "controller/inputs/analysis/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/statistics.h"

namespace causalctl::inputs {
namespace {

constexpr double kMargin = 4;           // of AICc; Burnham & Anderson: "considerably less" support
constexpr double kRounding = 1e-3;      // a relative residual that is as good as none
constexpr double kSignificance = 1e-4;  // one-sided
constexpr double kWidestInterval = 1;   // of a certain exponent
// Exponents this far from 1 are called linear. Blocks are counted, but what an element costs
// changes slowly with the size (rehashing, growing buffers).
constexpr double kAlmostLinear = 0.1;
// Where the calls of one size differ by less than this (as a share of their mean, squared), their
// number does not make the worst case worse.
constexpr double kSteadyVariance = 0.1;
// A cost that grows by less than this power of the size is called constant.
constexpr double kFlat = 0.3;
constexpr std::array kSimpleShapes = {Shape::constant,     Shape::logarithmic, Shape::linear,
                                      Shape::linearithmic, Shape::quadratic,   Shape::cubic,
                                      Shape::exponential};

double squares_of(const Curve& curve, std::size_t points) {
  return std::max(curve.squares, kRounding * kRounding * static_cast<double>(points));
}

double parameters_of(Shape shape) {
  return shape == Shape::constant ? 1 : shape == Shape::power ? 3 : 2;
}

double aicc(double squares, double parameters, std::size_t points) {
  const auto n = static_cast<double>(points);
  const double k = parameters + 1;  // and the variance
  return n * std::log(squares / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

double aicc(const Curve& curve, std::size_t points) {
  return aicc(squares_of(curve, points), parameters_of(curve.shape), points);
}

std::vector<Curve> simple_curves(std::span<const Point> points) {
  std::vector<Curve> curves;
  for (const Shape shape : kSimpleShapes) curves.push_back(fit_curve(shape, points));
  return curves;
}

// Joins points that are close together on a logarithmic axis.
std::vector<Point> joined(std::vector<Point> points, bool is_worst) {
  if (points.size() <= kMostPoints) return points;
  const double first = std::log(points.front().size);
  const double step =
      (std::log(points.back().size) - first) / static_cast<double>(kMostPoints) + 1e-12;
  std::vector<Point> all;
  long bin = -1;
  for (const Point& point : points) {
    const auto its = static_cast<long>((std::log(point.size) - first) / step);
    if (its != bin) {
      all.push_back(point);
      bin = its;
      continue;
    }
    Point& sum = all.back();
    const double calls = sum.calls + point.calls;
    if (!is_worst) {
      sum.size = (sum.size * sum.calls + point.size * point.calls) / calls;
      sum.cost = (sum.cost * sum.calls + point.cost * point.calls) / calls;
    } else if (point.cost > sum.cost) {
      sum.size = point.size;
      sum.cost = point.cost;
    }
    sum.calls = calls;
  }
  return all;
}

void set_weights(Series& series) {
  if (series.is_worst || series.variance <= 0) return;
  std::vector<Point>& points = series.points;
  const auto count = static_cast<double>(points.size());
  const Curve first = fit_curve(Shape::power, points);
  double of_calls = 0;
  for (const Point& point : points) of_calls += series.variance / point.calls / count;
  const double left = squares_of(first, points.size()) / count;
  const double between = std::max(left - of_calls, left / count);
  double sum = 0;
  for (Point& point : points) {
    point.weight = 1 / (between + series.variance / point.calls);
    sum += point.weight;
  }
  for (Point& point : points) point.weight *= count / sum;
}

// Returns the curve of the last exponent on one side of the best power that the points allow.
Curve end_of_interval(const Curve& power, std::span<const Point> points, bool upwards) {
  const auto freedom = points.size() - 3;
  const double t = statistics::student_t_quantile(0.025, freedom);
  const double most = squares_of(power, points.size()) * (1 + t * t / static_cast<double>(freedom));
  const double bound = upwards ? kLargestExponent : kSmallestExponent;
  Curve inside = power;
  double outside = power.exponent;
  for (double step = 0.02;; step *= 2) {
    outside =
        upwards ? std::min(power.exponent + step, bound) : std::max(power.exponent - step, bound);
    const Curve next = fit_curve(Shape::power, points, outside, &inside);
    if (next.squares > most) break;
    inside = next;
    if (outside == bound) return inside;
  }
  while (std::abs(outside - inside.exponent) > 0.004) {
    const double middle = (outside + inside.exponent) / 2;
    const Curve next = fit_curve(Shape::power, points, middle, &inside);
    if (next.squares > most) {
      outside = middle;
    } else {
      inside = next;
    }
  }
  return inside;
}

void choose(Fit& fit, std::span<const Point> points) {
  const std::vector<Curve> curves = simple_curves(points);
  fit.curve = curves.front();
  for (const Curve& curve : curves) {
    const double gain = aicc(fit.curve, points.size()) - aicc(curve, points.size());
    if (gain > 0 || (gain == 0 && curve.squares < fit.curve.squares)) fit.curve = curve;
  }
  fit.power = fit_curve(Shape::power, points);
  fit.slowest = end_of_interval(fit.power, points, false);
  fit.fastest = end_of_interval(fit.power, points, true);
  fit.exponent = {fit.power.exponent, fit.slowest.exponent, fit.fastest.exponent};
  if (aicc(fit.power, points.size()) < aicc(fit.curve, points.size()) - kMargin) {
    fit.curve = fit.power;
  }
}

bool grows(const Fit& fit, std::span<const Point> points) {
  const double constant = squares_of(fit_curve(Shape::constant, points), points.size());
  const double left = squares_of(fit.curve, points.size());
  const auto freedom = points.size() - 3;
  const double t = std::sqrt((constant - left) / (left / static_cast<double>(freedom)));
  return 1 - statistics::student_t_cdf(t, freedom) < kSignificance;
}

// Of the exponent, if the cost is a power of the size without a floor.
Interval plain_slope(std::span<const Point> points) {
  double weights = 0, x_sum = 0, y_sum = 0;
  for (const Point& point : points) {
    weights += point.weight;
    x_sum += point.weight * std::log(point.size);
    y_sum += point.weight * std::log(point.cost);
  }
  double xx = 0, xy = 0, yy = 0;
  for (const Point& point : points) {
    const double x = std::log(point.size) - x_sum / weights;
    const double y = std::log(point.cost) - y_sum / weights;
    xx += point.weight * x * x;
    xy += point.weight * x * y;
    yy += point.weight * y * y;
  }
  const auto freedom = points.size() - 2;
  const double slope = xy / xx;
  const double error =
      std::sqrt(std::max(0.0, yy - slope * xy) / static_cast<double>(freedom) / xx);
  const double half = statistics::student_t_quantile(0.025, freedom) * error;
  return {slope, slope - half, slope + half};
}

// Whether a power of the number of calls leaves as little as the curve.
bool calls_explain(const Fit& fit, const Series& series) {
  if (series.variance < kSteadyVariance) return false;
  std::vector<Point> by_calls = series.points;
  for (Point& point : by_calls) point.size = point.calls;
  const auto [fewest, most] =
      std::minmax_element(by_calls.begin(), by_calls.end(),
                          [](const Point& a, const Point& b) { return a.size < b.size; });
  if (fewest->size == most->size) return false;
  const Curve curve = fit_curve(Shape::power, by_calls);
  return aicc(curve, by_calls.size()) < aicc(fit.curve, by_calls.size()) + kMargin;
}

// What the shape alone says; nothing for a power whose interval has both sides of a bound.
std::optional<Verdict> verdict_of(Shape shape, const Interval& exponent) {
  if (shape == Shape::constant) return Verdict::constant;
  if (shape == Shape::logarithmic) return Verdict::sublinear;
  if (shape == Shape::linear) return Verdict::linear;
  if (shape == Shape::linearithmic) return Verdict::linearithmic;
  if (shape != Shape::power) return Verdict::superlinear;
  if (exponent.low > 1 + kAlmostLinear) return Verdict::superlinear;
  if (exponent.high < 1 - kAlmostLinear) return Verdict::sublinear;
  const bool near = exponent.low > 1 - 2 * kAlmostLinear && exponent.high < 1 + 2 * kAlmostLinear;
  return near ? std::optional(Verdict::linear) : std::nullopt;
}

// The verdict on which all curves agree that the points support.
Verdict agreed_verdict(const Fit& fit, std::span<const Point> points) {
  const double least = aicc(fit.curve, points.size());
  std::optional<Verdict> all = verdict_of(fit.curve.shape, fit.exponent);
  if (!all) return Verdict::unclear;
  std::vector<Curve> curves = simple_curves(points);
  curves.push_back(fit.power);
  for (const Curve& curve : curves) {
    // A power is always near some simple shape, so it contradicts only where it is better.
    const double margin = curve.shape == Shape::power ? 0 : kMargin;
    if (aicc(curve, points.size()) > least + margin) continue;
    const std::optional<Verdict> one = verdict_of(curve.shape, fit.exponent);
    if (!one || one == all) continue;
    const auto is_near_linear = [](Verdict verdict) {
      return verdict == Verdict::linear || verdict == Verdict::near_linear ||
             verdict == Verdict::linearithmic;
    };
    if (!is_near_linear(*one) || !is_near_linear(*all)) return Verdict::unclear;
    all = Verdict::near_linear;
  }
  return *all;
}

Verdict verdict_of(const Fit& fit, std::span<const Point> points) {
  if (fit.curve.shape == Shape::constant || !grows(fit, points)) {
    return plain_slope(points).high < kFlat ? Verdict::constant : Verdict::unclear;
  }
  const Verdict verdict = agreed_verdict(fit, points);
  const bool is_wide = fit.exponent.high - fit.exponent.low > kWidestInterval;
  if (is_wide && fit.curve.shape != Shape::exponential && verdict != Verdict::sublinear) {
    return Verdict::unclear;
  }
  if (verdict == Verdict::superlinear && fit.exponent.low <= 1) return Verdict::unclear;
  return verdict;
}

Verdict verdict_without(std::span<const Point> points) {
  Fit fit;
  choose(fit, points);
  return verdict_of(fit, points);
}

}  // namespace

Fit fit_growth(const Series& given) {
  Fit fit;
  Series series = given;
  std::erase_if(series.points,
                [](const Point& point) { return point.size < 1 || point.cost <= 0; });
  fit.sizes = series.points.size();
  if (fit.sizes == 0) return fit;
  fit.smallest = series.points.front().size;
  fit.largest = series.points.back().size;
  if (fit.sizes < kFewestSizes || fit.largest < kNarrowestRange * fit.smallest) return fit;
  series.points = joined(std::move(series.points), series.is_worst);
  if (series.points.size() < kFewestSizes) return fit;
  set_weights(series);
  const std::span<const Point> points = series.points;
  choose(fit, points);
  fit.verdict = verdict_of(fit, points);
  if (fit.verdict == Verdict::constant) fit.curve = fit_curve(Shape::constant, points);
  if (fit.verdict != Verdict::superlinear) return fit;
  const bool stays = verdict_without(points.first(points.size() - 1)) == Verdict::superlinear &&
                     verdict_without(points.subspan(1)) == Verdict::superlinear;
  if (!stays || calls_explain(fit, series)) fit.verdict = Verdict::unclear;
  return fit;
}

}  // namespace causalctl::inputs
