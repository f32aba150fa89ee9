// The 95 % interval of a share that was counted. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "controller/base/interval.h"
#include "controller/base/statistics.h"

namespace causalctl {

// Wilson's score interval ("Probable inference, the law of succession, and statistical inference",
// Journal of the American Statistical Association 22 (1927)), which holds for few counts and for
// shares near 0 and 1, too. The counts are taken to be independent. REQUIRES: count <= all; without
// any, everything from 0 to 1 is possible.
inline Interval share_with_interval(std::uint64_t count, std::uint64_t all) {
  if (all == 0) return {0, 0, 1};
  const auto n = static_cast<double>(all);
  const double share = static_cast<double>(count) / n;
  const double z2 = statistics::kNormal95 * statistics::kNormal95;
  const double center = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      statistics::kNormal95 / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {share, count == 0 ? 0 : std::max(0.0, center - half),
          count == all ? 1 : std::min(1.0, center + half)};
}

}  // namespace causalctl
