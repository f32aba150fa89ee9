// Decides how often the rings are drained, and how much a thread may owe before it is paused: as
// late and as rarely as accuracy allows. Lateness falsifies only what threads do to each other
// between two wake-ups (docs/virtual-time.md, "What a pause costs, and how late it may come"). So
// the rate at which the target's threads block tells how late is too late.
//
// The tick is 2, 4 or 8 ms. It is chosen before the first experiment at which that rate is known,
// and can then only become shorter, between two experiments. So nearly all baselines and the
// treatments beside them have the same tick, and what the controller takes from the target cancels.
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::causal {

inline constexpr Nanoseconds kShortestTick = 2 * kMillisecond;

class Cadence {
 public:
  void start(Nanoseconds now_ns) { passed_at_ns_ = updated_.at_ns = judged_.at_ns = now_ns; }
  // Call it when a thread of the target has blocked, but not in one of our pauses.
  void blocked() { ++blocks_; }
  // Call it if threads wait by spinning. Then lateness falsifies more than further pauses cost.
  void waits_by_spinning() { spinning_ = true; }
  // Limits the tick to `longest_ns`, but not below kShortestTick.
  void limit(Nanoseconds longest_ns);
  // Sets the threshold; nullopt derives it from what is known of the target.
  void fix_threshold(std::optional<Nanoseconds> threshold_ns) { threshold_ns_ = threshold_ns; }
  // Limits the threshold to `longest_ns` while threads wait for each other's cores.
  void limit_threshold(Nanoseconds longest_ns) { longest_threshold_ns_ = longest_ns; }

  // `tells` says whether the time since the last call shows how often threads block. It does not if
  // some threads owed time, because these stand in pauses instead of waiting for each other.
  void passed(Nanoseconds now_ns, bool tells);
  // Call it before each experiment. Both are totals since the start: `core_wait_ns` is the time for
  // which threads waited for any core, summed over threads; `own_wait_ns` is the part of it that
  // other threads of the target caused, divided by the number of cores.
  void update(Nanoseconds now_ns, Nanoseconds core_wait_ns, Nanoseconds own_wait_ns);

  // Returns whether cores were short between the last two updates.
  bool oversubscribed() const { return oversubscribed_; }
  bool spinning() const { return spinning_; }
  Nanoseconds tick_ns() const { return tick_ns_; }
  Nanoseconds threshold_ns() const;  // a thread with a larger debt is paused

 private:
  struct Since {  // totals as of an update
    Nanoseconds at_ns = 0;
    Nanoseconds core_wait_ns = 0;
    Nanoseconds own_wait_ns = 0;
  };
  Nanoseconds affordable_tick_ns(Nanoseconds now_ns, Nanoseconds core_wait_ns) const;

  bool spinning_ = false;
  bool oversubscribed_ = false;
  bool own_queue_ = false;  // cores were short because other threads of the target had them
  Nanoseconds longest_tick_ns_ = 8 * kMillisecond;
  Nanoseconds tick_ns_ = kShortestTick;
  std::optional<Nanoseconds> threshold_ns_;
  Nanoseconds longest_threshold_ns_ = kSecond;
  bool chosen_ = false;
  Since updated_;
  Since judged_;              // when the tick was last judged
  std::uint64_t blocks_ = 0;  // number of blocks since passed_at_ns_
  Nanoseconds passed_at_ns_ = 0;
  // Time since the tick was judged for which passed() was told that it tells.
  Nanoseconds told_ns_ = 0;
  std::uint64_t told_blocks_ = 0;
};

}  // namespace causalctl::causal
