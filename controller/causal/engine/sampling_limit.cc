#include "controller/causal/engine/sampling_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/perf/throttling.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kPollLimitEvery = 2 * kSecond;
constexpr Nanoseconds kFinest = kMillisecond;
constexpr double kMostUnsampled = 0.1;  // of the CPU time

std::string how_to_raise(Nanoseconds period_ns) {
  return fmt::format("to have one every {:.3g} ms: sysctl -w kernel.perf_event_max_sample_rate={}",
                     static_cast<double>(period_ns) / kMillisecond, 2 * kSecond / period_ns);
}

}  // namespace

std::string too_little_sampled(Nanoseconds sampled_ns, Nanoseconds unsampled_ns) {
  const auto unsampled = static_cast<double>(unsampled_ns);
  const double share = unsampled / std::max(static_cast<double>(sampled_ns) + unsampled, 1.0);
  if (share <= kMostUnsampled) return "";
  return fmt::format("{:.0f} % of the CPU time not sampled: the kernel limits samples",
                     100 * share);
}

Nanoseconds SamplingLimit::shortest_ns() {
  const auto limit = session_.sample_rate_limit();
  if (!limit) return 0;
  limit_ = *limit;
  return perf::shortest_period(*limit);
}

Nanoseconds SamplingLimit::allowed(Nanoseconds asked_ns) {
  const Nanoseconds shortest = shortest_ns();
  if (shortest <= asked_ns) return asked_ns;
  warnings_.push_back(
      fmt::format("kernel.perf_event_max_sample_rate is {}: a sample is taken every {:.3g} ms; {}",
                  limit_, static_cast<double>(shortest) / kMillisecond, how_to_raise(asked_ns)));
  return shortest;
}

Nanoseconds SamplingLimit::still_allowed(Nanoseconds period_ns, Nanoseconds now_ns) {
  if (now_ns - polled_at_ns_ < kPollLimitEvery) return period_ns;
  polled_at_ns_ = now_ns;
  const std::uint64_t before = limit_;
  const Nanoseconds shortest = shortest_ns();
  if (shortest <= period_ns) return period_ns;
  warnings_.push_back(fmt::format(
      "kernel.perf_event_max_sample_rate has fallen from {} to {} during the run: the kernel "
      "lowers "
      "it when sampling takes too long. From then on a sample is taken every {:.3g} ms; {}",
      before, limit_, static_cast<double>(shortest) / kMillisecond,
      how_to_raise(std::max(period_ns, kFinest))));
  return shortest;
}

}  // namespace causalctl::causal
