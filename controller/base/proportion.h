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
// shares near 0 and 1, too. The counts are taken to be independent. Without any sample, everything
// from 0 to 1 is possible.
inline Interval interval_of_share(double share, double samples) {
  if (samples <= 0) return {0, 0, 1};
  const double n = samples;
  const double z2 = statistics::kNormal95 * statistics::kNormal95;
  const double center = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      statistics::kNormal95 / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {share, share <= 0 ? 0 : std::max(0.0, center - half),
          share >= 1 ? 1 : std::min(1.0, center + half)};
}

// The same of a count. REQUIRES: count <= all.
inline Interval share_with_interval(std::uint64_t count, std::uint64_t all) {
  if (all == 0) return {0, 0, 1};
  return interval_of_share(static_cast<double>(count) / static_cast<double>(all),
                           static_cast<double>(all));
}

}  // namespace causalctl
