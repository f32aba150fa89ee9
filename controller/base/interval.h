// A measured number with its 95 % interval. If it is an effect, it is the fraction by which the
// time per unit of work falls.
#pragma once

namespace causalctl {

struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Whether the number is certainly not 0.
inline bool excludes_zero(const Interval& one) { return one.low > 0 || one.high < 0; }

}  // namespace causalctl
