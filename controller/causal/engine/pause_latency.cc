#include "controller/causal/engine/pause_latency.h"

#include <algorithm>

namespace causalctl::causal {
namespace {

constexpr std::size_t kMaxLatencies = 100'000;

}  // namespace

void PauseLatency::came(Tid thread, Nanoseconds start_ns, Nanoseconds end_ns) {
  const auto asked = asked_for_ns_.find(thread);
  if (asked == asked_for_ns_.end()) return;
  if (end_ns > start_ns && latencies_ns_.size() < kMaxLatencies) {
    latencies_ns_.push_back(start_ns - asked->second);
  }
  asked_for_ns_.erase(asked);
}

Nanoseconds PauseLatency::quantile(double which) const {
  if (latencies_ns_.empty()) return 0;
  std::vector<Nanoseconds> sorted = latencies_ns_;
  const auto at =
      sorted.begin() + static_cast<std::ptrdiff_t>(which * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

}  // namespace causalctl::causal
