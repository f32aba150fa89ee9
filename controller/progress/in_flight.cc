#include "controller/progress/in_flight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"

namespace causalctl::progress {
namespace {

constexpr std::uint64_t kFewestBegins = 20;  // to know the usual interval between two
constexpr Nanoseconds kQuiet = 4;            // of such intervals
constexpr std::size_t kFewestWindows = 4;
constexpr double kLeastShare = 0.003;
constexpr double kTail = 0.005;

}  // namespace

void InFlight::change(int by, Nanoseconds time_ns) {
  if (by > 0 && begins_++ == 0) first_begin_ns_ = time_ns;
  if (begins_ >= kFewestBegins && level_ == lowest_) {
    const auto intervals = static_cast<Nanoseconds>(begins_ - 1);
    was_empty_ |= time_ns - last_ns_ >= kQuiet * (last_ns_ - first_begin_ns_) / intervals;
  }
  last_ns_ = std::max(last_ns_, time_ns);
  level_ += by;
  if (level_ < lowest_) {
    lowest_ = level_;
    was_empty_ = false;  // it was not
  }
  if (by < 0) ++ends_;
  if (!steps_.empty()) steps_.push_back({last_ns_, level_});
}

void InFlight::start(Nanoseconds time_ns) {
  last_ns_ = std::max(last_ns_, time_ns);
  steps_ = {{last_ns_, level_}};
  ends_ = 0;
}

std::optional<Nanoseconds> InFlight::mean_above_floor(Nanoseconds until_ns) const {
  if (ends_ == 0) return std::nullopt;
  double area = 0;
  Nanoseconds to_ns = std::max(until_ns, last_ns_);
  std::int64_t floor = level_;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    floor = std::min(floor, step->level);
    area += static_cast<double>(step->level - floor) * static_cast<double>(to_ns - step->at_ns);
    to_ns = step->at_ns;
  }
  return static_cast<Nanoseconds>(area / static_cast<double>(ends_));
}

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

}  // namespace causalctl::progress
