#include "controller/causal/cadence.h"

#include <algorithm>

namespace causalctl::causal {
namespace {

// Shorter would cost the target more where no core is idle.
constexpr Nanoseconds kShortestTick = 2 * kMillisecond;
constexpr Nanoseconds kLongestTick = 8 * kMillisecond;
constexpr double kTicksBetweenBlocks = 8;
constexpr Nanoseconds kEnoughToSee = 400 * kMillisecond;

// A debt below the threshold waits for more. A pause as long as this is still on at the next tick
// and is prolonged instead of being begun again, and much of what is owed cancels before.
constexpr double kThresholdTicks = 2.5;
// Where threads wait for cores, the core of a paused thread is taken by another one, and does not
// stand still: then the fewer pauses the better.
constexpr Nanoseconds kThresholdOversubscribed = 10 * kMillisecond;
constexpr double kOversubscribed = 0.25;  // threads waiting for a core, on average
constexpr Nanoseconds kThresholdSpinning = kMillisecond;

}  // namespace

Nanoseconds Cadence::affordable_tick_ns(Nanoseconds passed_ns) const {
  if (spinning_ || oversubscribed_ || keep_shortest_) return kShortestTick;
  if (blocks_ == 0) return kLongestTick;
  const double between_ns = static_cast<double>(passed_ns) / static_cast<double>(blocks_);
  return std::clamp(static_cast<Nanoseconds>(between_ns / kTicksBetweenBlocks), kShortestTick,
                    kLongestTick);
}

void Cadence::look(Nanoseconds now_ns, Nanoseconds core_wait_ns) {
  const Nanoseconds passed_ns = now_ns - looked_at_ns_;
  if (passed_ns < kEnoughToSee) return;
  oversubscribed_ = static_cast<double>(core_wait_ns - core_wait_before_ns_) >
                    kOversubscribed * static_cast<double>(passed_ns);
  const Nanoseconds affordable_ns = affordable_tick_ns(passed_ns);
  tick_ns_ = chosen_ ? std::min(tick_ns_, affordable_ns) : affordable_ns;
  chosen_ = true;
  looked_at_ns_ = now_ns;
  blocks_ = 0;
  core_wait_before_ns_ = core_wait_ns;
}

Nanoseconds Cadence::threshold_ns() const {
  if (spinning_) return kThresholdSpinning;
  if (oversubscribed_) return kThresholdOversubscribed;
  return static_cast<Nanoseconds>(kThresholdTicks * static_cast<double>(tick_ns_));
}

}  // namespace causalctl::causal
