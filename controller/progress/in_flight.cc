#include "controller/progress/in_flight.h"

#include <algorithm>
#include <utility>

namespace causalctl::progress {
namespace {

constexpr std::uint64_t kFewestIntervals = 20;  // to know the usual one between two begins
constexpr Nanoseconds kQuiet = 4;               // of such intervals
constexpr double kFewestLeft = 5;     // begins without an end since start() that may never end …
constexpr double kLeastLeft = 0.005;  // … as a share of all

}  // namespace

void InFlight::change(int by, Nanoseconds time_ns) {
  time_ns = std::max(time_ns, last_ns_);
  see_quiet(time_ns);
  if (by > 0) {
    if (std::exchange(has_begun_, true)) {
      ++intervals_;
      between_ns_ += time_ns - last_begin_ns_;
    }
    last_begin_ns_ = time_ns;
  }
  last_ns_ = time_ns;
  level_ += by;
  see_lowest(level_);
  ++(by > 0 ? seen_.begins : seen_.ends);
  if (!steps_.empty()) steps_.push_back({time_ns, level_});
}

void InFlight::see_quiet(Nanoseconds time_ns) {
  if (intervals_ < kFewestIntervals || level_ != lowest_) return;
  was_empty_ |= time_ns - last_ns_ >= kQuiet * between_ns_ / static_cast<Nanoseconds>(intervals_);
}

void InFlight::see_lowest(std::int64_t level) {
  if (level >= lowest_) return;
  lowest_ = level;
  was_empty_ = false;  // it was not
}

void InFlight::start() {
  steps_.assign(1, {0, level_});
  seen_ = {};
  last_ns_ = last_begin_ns_ = 0;
}

// All levels since start() are higher or lower by it, and those before are not.
void InFlight::late(int by) {
  lowest_ -= by;
  for (const Step& step : steps_) see_lowest(step.level);
}

double InFlight::area(Nanoseconds until_ns, bool above_following) const {
  double sum = 0;
  Nanoseconds to_ns = std::max(until_ns, last_ns_);
  std::int64_t floor = above_following ? level_ : lowest_;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    floor = std::min(floor, step->level);
    sum += static_cast<double>(step->level - floor) * static_cast<double>(to_ns - step->at_ns);
    to_ns = step->at_ns;
  }
  return sum;
}

Nanoseconds InFlight::mean(Nanoseconds until_ns) const {
  if (seen_.ends == 0) return 0;
  return static_cast<Nanoseconds>(area(until_ns, false) / static_cast<double>(seen_.ends));
}

Nanoseconds InFlight::mean_of_ended(Nanoseconds until_ns) const {
  const auto begins = static_cast<double>(seen_.begins);
  const double left = begins - static_cast<double>(seen_.ends);
  if (seen_.ends == 0 || left < std::max(kFewestLeft, kLeastLeft * begins)) return mean(until_ns);
  return static_cast<Nanoseconds>(area(until_ns, true) / static_cast<double>(seen_.ends));
}

}  // namespace causalctl::progress
