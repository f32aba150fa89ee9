// A number that was measured, with its 95 % interval. Of an effect: the fraction by which the time
// per unit of work falls.
#pragma once

namespace causalctl {

struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

}  // namespace causalctl
