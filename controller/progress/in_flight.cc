#include "controller/progress/in_flight.h"

#include <algorithm>
#include <utility>

namespace causalctl::progress {
namespace {

constexpr std::uint64_t kFewestIntervals = 20;  // to know the usual one between two begins
constexpr Nanoseconds kQuiet = 4;               // of such intervals
constexpr double kFewestLeft = 5;     // of begins without an end since start(), or ends without …
constexpr double kLeastLeft = 0.005;  // … a begin, so that they may be for good; as a share of all

// Returns whether `more` exceeds `fewer` by what may be for good.
bool exceeds(std::uint64_t more, std::uint64_t fewer) {
  const auto all = static_cast<double>(more);
  return all - static_cast<double>(fewer) >= std::max(kFewestLeft, kLeastLeft * all);
}

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
  lowest_before_ = lowest_;
  last_ns_ = last_begin_ns_ = 0;
}

// All levels since start() are higher or lower by it, and those before are not.
void InFlight::late(int by) {
  lowest_ -= by;
  lowest_before_ -= by;
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

double InFlight::mean_of_begun(Nanoseconds until_ns) const {
  double sum = 0;
  std::int64_t floor = lowest_before_;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Nanoseconds to_ns =
        i + 1 < steps_.size() ? steps_[i + 1].at_ns : std::max(until_ns, last_ns_);
    floor = std::min(floor, steps_[i].level);
    sum +=
        static_cast<double>(steps_[i].level - floor) * static_cast<double>(to_ns - steps_[i].at_ns);
  }
  const double ended =
      static_cast<double>(seen_.ends) - static_cast<double>(lowest_before_ - floor);
  return ended > 0 ? sum / ended : 0;
}

Nanoseconds InFlight::mean(Nanoseconds until_ns) const {
  if (seen_.ends == 0) return 0;
  if (exceeds(seen_.ends, seen_.begins)) return static_cast<Nanoseconds>(mean_of_begun(until_ns));
  return static_cast<Nanoseconds>(area(until_ns, false) / static_cast<double>(seen_.ends));
}

Nanoseconds InFlight::mean_of_ended(Nanoseconds until_ns) const {
  if (seen_.ends == 0 || !exceeds(seen_.begins, seen_.ends)) return mean(until_ns);
  return static_cast<Nanoseconds>(area(until_ns, true) / static_cast<double>(seen_.ends));
}

}  // namespace causalctl::progress
