#include "controller/progress/in_flight.h"

#include <algorithm>

namespace causalctl::progress {
namespace {

constexpr std::uint64_t kFewestBegins = 20;  // to know the usual interval between two
constexpr Nanoseconds kQuiet = 4;            // of such intervals

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

}  // namespace causalctl::progress
