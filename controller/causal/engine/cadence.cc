#include "controller/causal/engine/cadence.h"

#include <algorithm>

#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {
namespace {

constexpr std::uint64_t kTicksBetweenBlocks = 8;
constexpr Nanoseconds kEnoughToSee = 400 * kMillisecond;
// Time that must have been observed before the tick is changed. A burst must not shorten it,
// because it never grows again.
constexpr Nanoseconds kEnoughToChange = 5 * kSecond;
constexpr std::uint64_t kBlocksToChange = 200;

// A debt below the threshold is kept until it has grown. A pause of this length is still under way
// at the next tick, which prolongs it instead of beginning another, and much of a debt cancels
// before it is paid.
constexpr double kThresholdTicks = 2.5;
// If threads wait for cores, another thread takes the core of a paused one, so the core does not
// stand still. Then fewer pauses are better.
constexpr Nanoseconds kThresholdOversubscribed = 10 * kMillisecond;
// If that other thread is the target's, the core goes on as late as it was: debts belong to the
// cores, are mostly noise that cancels, and are not paid by pausing a thread.
constexpr Nanoseconds kThresholdOwnQueue = 40 * kMillisecond;
constexpr Nanoseconds kThresholdSpinning = kMillisecond;

}  // namespace

void Cadence::passed(Nanoseconds now_ns, bool tells) {
  if (tells) {
    told_ns_ += now_ns - passed_at_ns_;
    told_blocks_ += blocks_;
  }
  passed_at_ns_ = now_ns;
  blocks_ = 0;
}

void Cadence::limit(Nanoseconds longest_ns) {
  longest_tick_ns_ = std::clamp(longest_ns, kShortestTick, longest_tick_ns_);
  tick_ns_ = std::min(tick_ns_, longest_tick_ns_);
}

// Doubles the shortest tick as often as accuracy allows, so that noise rarely changes the result.
Nanoseconds Cadence::affordable_tick_ns(Nanoseconds now_ns, Nanoseconds core_wait_ns) const {
  if (spinning_ || short_of_cores(core_wait_ns - judged_.core_wait_ns, now_ns - judged_.at_ns)) {
    return kShortestTick;
  }
  const auto rare_enough = [&](Nanoseconds tick_ns) {
    return static_cast<Nanoseconds>(kTicksBetweenBlocks * told_blocks_) * tick_ns <= told_ns_;
  };
  Nanoseconds tick_ns = kShortestTick;
  while (2 * tick_ns <= longest_tick_ns_ && rare_enough(2 * tick_ns)) tick_ns *= 2;
  return tick_ns;
}

void Cadence::update(Nanoseconds now_ns, Nanoseconds core_wait_ns, Nanoseconds own_wait_ns) {
  const Nanoseconds passed_ns = now_ns - updated_.at_ns;
  if (passed_ns < kEnoughToSee) return;
  oversubscribed_ = short_of_cores(core_wait_ns - updated_.core_wait_ns, passed_ns);
  own_queue_ = short_of_cores(own_wait_ns - updated_.own_wait_ns, passed_ns);
  updated_ = {now_ns, core_wait_ns, own_wait_ns};
  if (told_ns_ < kEnoughToSee) return;
  if (chosen_ && told_ns_ < kEnoughToChange && told_blocks_ < kBlocksToChange) return;
  const Nanoseconds affordable_ns = affordable_tick_ns(now_ns, core_wait_ns);
  tick_ns_ = chosen_ ? std::min(tick_ns_, affordable_ns) : affordable_ns;
  chosen_ = true;
  judged_ = updated_;
  told_ns_ = 0;
  told_blocks_ = 0;
}

Nanoseconds Cadence::threshold_ns() const {
  if (threshold_ns_) return *threshold_ns_;
  if (spinning_) return kThresholdSpinning;
  if (oversubscribed_ && !own_queue_) return kThresholdOversubscribed;
  const auto usual_ns = static_cast<Nanoseconds>(kThresholdTicks * static_cast<double>(tick_ns_));
  if (!own_queue_) return usual_ns;
  return std::max(usual_ns, std::min(longest_threshold_ns_, kThresholdOwnQueue));
}

}  // namespace causalctl::causal
