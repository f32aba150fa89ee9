// Fits one curve of cost against input size: cost(n) = scale · (floor + (1 − floor) · g(n)/g(N)),
// where N is the largest size and g the curve's shape (the curve fitting of input-sensitive
// profiling, §3, Figure 6). Pure.
//
// The squares are those of the logarithms, because the spread of a cost grows with the cost: what
// disturbs it (other data, other branches, misses) does so once for each element. So a size counts
// by its relative residual, and the many blocks of the largest size do not decide alone. An outlier
// of a heavy tail pulls a logarithm little.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace causalctl::inputs {

enum class Shape : std::uint8_t {
  constant,
  logarithmic,   // log n
  linear,        // n
  linearithmic,  // n log n
  quadratic,     // n²
  cubic,         // n³
  exponential,   // 2ⁿ
  power,         // n^k
};

struct Point {
  double size = 0;    // at least 1
  double cost = 0;    // more than 0
  double calls = 0;   // activations behind it
  double weight = 1;  // of its squared residual
};

struct Curve {
  Shape shape = Shape::constant;
  double scale = 0;     // the cost at the largest size
  double floor = 1;     // the share of it that does not grow, above 0 and at most 1
  double exponent = 0;  // of a power
  double largest = 1;   // N
  double squares = 0;   // weighted sum of the squared residuals

  double at(double size) const;
};

inline constexpr double kSmallestExponent = 0.01;
inline constexpr double kLargestExponent = 12;

// Returns the best curve of this shape. REQUIRES: at least four points, and not all of one size.
// `exponent` fixes that of a power. `start` is a curve that is near it, if one is known.
Curve fit_curve(Shape shape, std::span<const Point> points, std::optional<double> exponent = {},
                const Curve* start = nullptr);

}  // namespace causalctl::inputs
