#include "controller/perf/throttling.h"

#include <utility>

namespace causalctl::perf {
namespace {

constexpr Nanoseconds kLongestTick = 10 * kMillisecond;  // HZ is 100 to 1000

}  // namespace

// The mean period is two of the kernel's, so that even with the shortest jittered period a tick has
// one sample fewer than is allowed.
Nanoseconds shortest_period(std::uint64_t limit_per_s) {
  const auto limit = static_cast<Nanoseconds>(std::clamp<std::uint64_t>(limit_per_s, 1, kSecond));
  return std::min(2 * kSecond / limit, kLongestTick);
}

void Throttling::end(Nanoseconds time_ns) {
  if (since_ns_ > 0) stopped_ns_ += std::max<Nanoseconds>(0, time_ns - since_ns_);
  since_ns_ = 0;
}

void Throttling::leaves(Nanoseconds time_ns) {
  end(time_ns);
  if (on_core_since_ns_ > 0) ran_ns_ += std::max<Nanoseconds>(0, time_ns - on_core_since_ns_);
  on_core_since_ns_ = 0;
}

std::optional<Nanoseconds> Throttling::take_ran(Nanoseconds time_ns) {
  const bool known = std::exchange(sampled_, true) && on_core_since_ns_ > 0;
  const Nanoseconds ran_ns = ran_ns_ + std::max<Nanoseconds>(0, time_ns - on_core_since_ns_);
  ran_ns_ = 0;
  on_core_since_ns_ = time_ns;
  return known ? std::optional(ran_ns) : std::nullopt;
}

Throttling::Worth Throttling::take_worth(Nanoseconds passed_ns, Nanoseconds most_ns,
                                         std::optional<Nanoseconds> ran_ns) {
  const Nanoseconds stopped_ns = std::exchange(stopped_ns_, 0);
  if (stopped_ns > 0 && ran_ns) passed_ns = std::min(passed_ns, *ran_ns);
  if (passed_ns < stopped_ns) return {std::min(passed_ns, most_ns), stopped_ns};
  const Nanoseconds sampled_ns = std::min(passed_ns, most_ns + std::min(stopped_ns, kLongestTick));
  return {sampled_ns, stopped_ns > 0 ? passed_ns - sampled_ns : 0};
}

}  // namespace causalctl::perf
