#include "controller/base/unended_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"

namespace causalctl {
namespace {

constexpr std::size_t kFewestWindows = 4;
constexpr double kLeastShare = 0.003;
constexpr double kTail = 0.005;

}  // namespace

std::optional<Interval> unended_share(std::span<const BeginsAndEnds> windows) {
  if (windows.size() < kFewestWindows) return std::nullopt;
  double begins = 0, excess = 0;
  for (const BeginsAndEnds& each : windows) {
    begins += static_cast<double>(each.begins);
    excess += static_cast<double>(each.begins) - static_cast<double>(each.ends);
  }
  if (begins <= 0) return std::nullopt;
  const double share = excess / begins;
  double squares = 0;
  for (const BeginsAndEnds& each : windows) {
    const double residual =
        static_cast<double>(each.begins) * (1 - share) - static_cast<double>(each.ends);
    squares += residual * residual;
  }
  const auto n = static_cast<double>(windows.size());
  const double error = std::sqrt(squares * n / (n - 1)) / begins *
                       statistics::student_t_quantile(kTail, windows.size() - 1);
  if (share < kLeastShare || share - error <= 0) return std::nullopt;
  return Interval{share, share - error, std::min(share + error, 1.0)};
}

std::string text_of_unended(const std::string& name, const Interval& share, const char* so) {
  return fmt::format(
      "{}: {:.1f} % of its begins [{:.1f}, {:.1f}] have no end. Such requests never pass the end "
      "(they are cancelled, or leave another way), or they pile up. {}; count every way out as an "
      "end",
      name, 100 * share.value, 100 * share.low, 100 * share.high, so);
}

}  // namespace causalctl
