// How well effects are known where strangers share the target's cores: by how much they keep it
// from them, and by how often its threads meet (docs/virtual-time.md, "Other programs on the same
// cores"). Pure.
#pragma once

#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {

// How often threads that pass progress points meet other threads, by the CPU time that they have
// between two such moments, against the slice for which a scheduler leaves a core to a stranger.
enum class Meeting : std::uint8_t {
  apart,   // hardly ever: each thread's waits for cores are its own
  seldom,  // no more often than once in a slice
  often,   // within a slice, by spinning, or devices wake them: waits for cores hit all at once;
           // also where nothing is known
};

struct CoresShared {
  // Of the time for which the target's threads ran, or waited because of strangers, what they
  // waited.
  double waited_share = 0;
  // CPU time saved, times this, is what is saved of the time.
  double stretch = 1;
  bool matters = false;     // there is enough of it to be told, and to widen intervals
  bool many_cores = false;  // more than two: which threads share one is the scheduler's choice
  Meeting meeting = Meeting::apart;
  // Of the time for which a quota was used up in most of its periods, what it stopped the target.
  double quota_share = 0;
};

inline constexpr Nanoseconds kSlice = 3 * kMillisecond;

CoresShared classify(const CoreTotals& totals, Nanoseconds slice_ns = kSlice);

}  // namespace causalctl::causal
