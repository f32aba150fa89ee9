#include "controller/base/unpaired_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"

namespace causalctl {
namespace {

constexpr std::size_t kFewestWindows = 4;
constexpr double kLeastShare = 0.003;
constexpr double kTail = 0.005;

// Returns the share of `more` that have none of `fewer`, if it is above zero for certain.
std::optional<Interval> share_of_excess(std::span<const BeginsAndEnds> windows,
                                        std::uint64_t BeginsAndEnds::*more,
                                        std::uint64_t BeginsAndEnds::*fewer) {
  double all = 0, excess = 0;
  for (const BeginsAndEnds& each : windows) {
    all += static_cast<double>(each.*more);
    excess += static_cast<double>(each.*more) - static_cast<double>(each.*fewer);
  }
  if (all <= 0) return std::nullopt;
  const double share = excess / all;
  double squares = 0;
  for (const BeginsAndEnds& each : windows) {
    const double residual =
        static_cast<double>(each.*more) * (1 - share) - static_cast<double>(each.*fewer);
    squares += residual * residual;
  }
  const auto n = static_cast<double>(windows.size());
  const double error = std::sqrt(squares * n / (n - 1)) / all *
                       statistics::student_t_quantile(kTail, windows.size() - 1);
  if (share < kLeastShare || share - error <= 0) return std::nullopt;
  return Interval{share, share - error, std::min(share + error, 1.0)};
}

}  // namespace

std::optional<Unpaired> unpaired_share(std::span<const BeginsAndEnds> windows) {
  if (windows.size() < kFewestWindows) return std::nullopt;
  using Counts = BeginsAndEnds;
  if (const auto share = share_of_excess(windows, &Counts::begins, &Counts::ends)) {
    return Unpaired{false, *share};
  }
  if (const auto share = share_of_excess(windows, &Counts::ends, &Counts::begins)) {
    return Unpaired{true, *share};
  }
  return std::nullopt;
}

std::string text_of_unpaired(const std::string& name, const Unpaired& unpaired,
                             const char* so_of_begins, const char* so_of_ends) {
  const Interval& share = unpaired.share;
  return fmt::format("{}: {:.1f} % of its {} [{:.1f}, {:.1f}] have no {}. {}", name,
                     100 * share.value, unpaired.ends ? "ends" : "begins", 100 * share.low,
                     100 * share.high, unpaired.ends ? "begin" : "end",
                     unpaired.ends
                         ? fmt::format("Something passes the end without the begin (a refusal, "
                                       "another way there), or begins are not counted. {}; name an "
                                       "end that only what has begun passes",
                                       so_of_ends)
                         : fmt::format("Such requests never pass the end (they are cancelled, or "
                                       "leave another way), or they pile up. {}; count every way "
                                       "out as an end",
                                       so_of_begins));
}

}  // namespace causalctl
