// The least squares are those of Levenberg and Marquardt, by Eigen. Its parameters are without
// bounds: the logarithm of the scale, and the floor's log-odds. The exponent is clamped, as are
// log-odds beyond which a double would be 0 or 1.
#include "controller/inputs/analysis/curve.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <vector>

#include "controller/base/error.h"

namespace causalctl::inputs {
namespace {

constexpr double kMostLogOdds = 300;  // exp(-300) is a double
constexpr int kMostEvaluations = 60;

// Returns g(n)/g(N).
double relative_shape(Shape shape, double size, double largest, double exponent) {
  const double ratio = size / largest;
  switch (shape) {
    case Shape::constant:
      return 1;
    case Shape::logarithmic:
      return std::log(size) / std::log(largest);
    case Shape::linear:
      return ratio;
    case Shape::linearithmic:
      return ratio * std::log(size) / std::log(largest);
    case Shape::quadratic:
      return ratio * ratio;
    case Shape::cubic:
      return ratio * ratio * ratio;
    case Shape::exponential:
      return std::exp2(size - largest);
    case Shape::power:
      return std::pow(ratio, exponent);
  }
  return 1;
}

double floor_of(double log_odds) {
  return 1 / (1 + std::exp(-std::clamp(log_odds, -kMostLogOdds, kMostLogOdds)));
}

double clamped_exponent(double exponent) {
  return std::clamp(exponent, kSmallestExponent, kLargestExponent);
}

// Residuals and their derivatives. Parameters: log scale, log-odds of the floor and, if it is not
// fixed, the exponent.
class Residuals : public Eigen::DenseFunctor<double> {
 public:
  Residuals(Shape shape, std::span<const Point> points, double largest,
            std::optional<double> exponent)
      : DenseFunctor(shape == Shape::power && !exponent ? 3 : 2, static_cast<int>(points.size())),
        shape_(shape),
        points_(points),
        largest_(largest),
        fixed_exponent_(exponent) {
    if (inputs() == 3) return;
    for (const Point& point : points) {
      shapes_.push_back(relative_shape(shape, point.size, largest, exponent.value_or(0)));
    }
  }

  int operator()(const InputType& x, ValueType& residuals) const {
    const double floor = floor_of(x[1]);
    for (int i = 0; i < values(); ++i) {
      const Point& point = points_[static_cast<std::size_t>(i)];
      const double value = floor + (1 - floor) * shape_at(x, i);
      residuals[i] = std::sqrt(point.weight) * (std::log(point.cost) - x[0] - std::log(value));
    }
    return 0;
  }

  int df(const InputType& x, JacobianType& jacobian) const {
    const double floor = floor_of(x[1]);
    for (int i = 0; i < values(); ++i) {
      const Point& point = points_[static_cast<std::size_t>(i)];
      const double weight = std::sqrt(point.weight);
      const double shape = shape_at(x, i);
      const double value = floor + (1 - floor) * shape;
      jacobian(i, 0) = -weight;
      jacobian(i, 1) = -weight * (1 - shape) * floor * (1 - floor) / value;
      if (inputs() < 3) continue;
      const bool inside = x[2] > kSmallestExponent && x[2] < kLargestExponent;
      jacobian(i, 2) =
          inside ? -weight * (1 - floor) * shape * std::log(point.size / largest_) / value : 0;
    }
    return 0;
  }

 private:
  double shape_at(const InputType& x, int i) const {
    const auto number = static_cast<std::size_t>(i);
    if (inputs() < 3) return shapes_[number];
    return relative_shape(shape_, points_[number].size, largest_, clamped_exponent(x[2]));
  }

  Shape shape_;
  std::span<const Point> points_;
  double largest_;
  std::optional<double> fixed_exponent_;
  std::vector<double> shapes_;  // by point, where they are known
};

Curve constant_curve(std::span<const Point> points, double largest) {
  double sum = 0;
  double weights = 0;
  for (const Point& point : points) {
    sum += point.weight * std::log(point.cost);
    weights += point.weight;
  }
  const double center = sum / weights;
  Curve curve;
  curve.scale = std::exp(center);
  curve.largest = largest;
  for (const Point& point : points) {
    const double residual = std::log(point.cost) - center;
    curve.squares += point.weight * residual * residual;
  }
  return curve;
}

struct Start {
  double log_odds;
  double exponent;
};

// The floor is small or large, and a power is slow or fast.
std::vector<Start> starts_of(Shape shape, std::optional<double> exponent, const Curve* near) {
  if (near != nullptr) {
    const double floor = std::clamp(near->floor, 1e-120, 1 - 1e-9);
    return {{std::log(floor / (1 - floor)), near->exponent}};
  }
  if (shape != Shape::power || exponent) return {{-8, 0}, {-1, 0}};
  return {{-8, 0.5}, {-8, 1.5}, {-1, 1.5}, {-4, 4}};
}

}  // namespace

double Curve::at(double size) const {
  return scale * (floor + (1 - floor) * relative_shape(shape, size, largest, exponent));
}

Curve fit_curve(Shape shape, std::span<const Point> points, std::optional<double> exponent,
                const Curve* start) {
  INVARIANT(points.size() >= 4);
  double largest = 0;
  double at_largest = 0;
  for (const Point& point : points) {
    if (point.size < largest) continue;
    largest = point.size;
    at_largest = point.cost;
  }
  Curve best = constant_curve(points, largest);
  if (shape == Shape::constant) return best;
  best.shape = shape;
  best.exponent = exponent.value_or(kSmallestExponent);
  Residuals residuals(shape, points, largest, exponent);
  for (const Start& from : starts_of(shape, exponent, start)) {
    Eigen::VectorXd x(residuals.inputs());
    x[0] = std::log(at_largest);
    x[1] = from.log_odds;
    if (x.size() == 3) x[2] = from.exponent;
    Eigen::LevenbergMarquardt<Residuals> solver(residuals);
    solver.setMaxfev(kMostEvaluations);
    solver.minimize(x);
    const double squares = solver.fvec().squaredNorm();
    if (!(squares < best.squares)) continue;
    best.scale = std::exp(x[0]);
    best.floor = floor_of(x[1]);
    best.squares = squares;
    best.exponent = x.size() == 3 ? clamped_exponent(x[2]) : exponent.value_or(0);
  }
  return best;
}

}  // namespace causalctl::inputs
