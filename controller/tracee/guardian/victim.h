// The victim: the thread of the target that is stopped for calls of ours, the one that notices
// least.
#pragma once

#include <vector>

#include "controller/base/types.h"
#include "controller/tracee/guardian/forking_threads.h"

namespace causalctl::tracee {

// Ranks beyond those of threads that hardly notice.
inline constexpr int kSpared = 4;      // would notice: only where no other can be had
inline constexpr int kUnsuitable = 5;  // at the moment

struct VictimCandidate {
  int rank = 0;
  Tid tid = 0;
};

// Bounded, so that a target with 10,000 threads is not read for a second. Without those of the
// kernel, which never come to a call of ours.
std::vector<Tid> first_threads(Pid pid);

// These, the one that notices least first.
std::vector<VictimCandidate> victim_candidates(Pid pid, ForkingThreads& forking);

}  // namespace causalctl::tracee
