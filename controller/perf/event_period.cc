#include "controller/perf/event_period.h"

#include <algorithm>
#include <utility>

namespace causalctl::perf {
namespace {

constexpr std::uint64_t kPeriodRedrawn = 128;  // once in so many calls it is drawn without need
constexpr unsigned kUrgent = 4;                // times as many as may be: a change does not wait
constexpr unsigned kPatience = 8;              // calls for which a change may wait
constexpr std::uint64_t kMostLeftOut = 7;      // samples, at each end of a period
constexpr std::uint64_t kOwedParts = 8;        // a sample stands for such a part of what is owed
constexpr std::uint64_t kGap = 3;  // times the mean period, from which on samples were lost

}  // namespace

std::optional<std::uint64_t> EventPeriod::worth(std::uint64_t count) {
  ++seen_;
  if (count <= last_count_) return std::nullopt;
  std::uint64_t passed = count - std::exchange(last_count_, count);
  if (passed > kGap * mean_.every()) {
    owed_ += passed - mean_.every();
    passed = mean_.every();
  }
  const bool is_forced = count > set_after_ && count <= set_before_;
  const bool is_over = is_due_ && to_count_ == 0;
  if (is_forced || to_skip_ > 0 || is_over) {
    if (!is_forced && to_skip_ > 0) --to_skip_;
    owed_ += passed;
    return std::nullopt;
  }
  if (is_due_) --to_count_;
  const std::uint64_t part = (owed_ + kOwedParts - 1) / kOwedParts;
  owed_ -= part;
  return passed + part;
}

bool EventPeriod::wants_other(unsigned seen, unsigned most, std::uint64_t random) {
  return mean_.adapt(seen, most) || (seen > 0 && mean_.every() > 1 && random % kPeriodRedrawn == 0);
}

std::optional<std::uint64_t> EventPeriod::adapt(unsigned most, std::uint64_t random) {
  const unsigned seen = std::exchange(seen_, 0);
  const bool is_urgent = seen > kUrgent * most;
  if (!is_due_ || is_urgent) {
    if (!wants_other(seen, most, random)) return std::nullopt;
    is_due_ = true;
    to_count_ = (random >> 48U) % (kMostLeftOut + 1);
    waited_ = 0;
  }
  if (to_count_ > 0 && !is_urgent && ++waited_ < kPatience) return std::nullopt;
  is_due_ = false;
  const std::uint64_t mean = mean_.every();
  if (mean == 1) {
    to_skip_ = 0;
    return 1;
  }
  to_skip_ = (random >> 32U) % (kMostLeftOut + 1);
  return prime_from(mean - mean / 4 + (random / kPeriodRedrawn) % (mean / 2 + 1));
}

void EventPeriod::was_set(std::uint64_t before, std::uint64_t after) {
  set_after_ = before;
  set_before_ = mean_.every() == 1 ? before : after + 1;
}

std::uint64_t prime_from(std::uint64_t number) {
  const auto is_prime = [](std::uint64_t n) {
    for (std::uint64_t divisor = 2; divisor * divisor <= n; ++divisor) {
      if (n % divisor == 0) return false;
    }
    return n > 1;
  };
  while (!is_prime(number)) ++number;
  return number;
}

}  // namespace causalctl::perf
