// Tells how well effects are known while strangers share the target's cores. It depends on how much
// core time the strangers take, and on how often the target's threads meet (docs/virtual-time.md,
// "Other programs on the same cores"). Pure.
#pragma once

#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {

// How often threads that pass progress points meet other threads: the CPU time that they have
// between two meetings, compared with the slice for which the scheduler leaves a core to a
// stranger.
enum class Meeting : std::uint8_t {
  apart,   // hardly ever, so that each thread waits for cores independently of the others
  seldom,  // at most once in a slice
  often,   // within a slice, by spinning, or through wake-ups by devices, so that a wait for a core
           // hits all threads at once; also if nothing is known
};

struct CoresShared {
  // Of the time for which the target's threads ran or waited because of strangers, the waited part.
  double waited_share = 0;
  // The real time that is saved is the saved CPU time times this factor.
  double stretch = 1;
  bool matters = false;     // whether the share is large enough to be reported and widen intervals
  bool many_cores = false;  // more than two, so that the scheduler chooses which threads share one
  Meeting meeting = Meeting::apart;
  // Of the time for which a quota was used up in most of its periods, the part for which it stopped
  // the target.
  double quota_share = 0;
};

inline constexpr Nanoseconds kSlice = 3 * kMillisecond;

CoresShared classify(const CoreTotals& totals, Nanoseconds slice_ns = kSlice);

}  // namespace causalctl::causal
