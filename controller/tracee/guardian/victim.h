// The victim is the thread of the target that is stopped to make calls for us: the one that notices
// it least.
#pragma once

#include <vector>

#include "controller/base/types.h"
#include "controller/tracee/guardian/forking_threads.h"

namespace causalctl::tracee {

// Ranks beyond those of threads that hardly notice.
inline constexpr int kSpared = 4;      // it would notice, and is stopped only if there is no other
inline constexpr int kUnsuitable = 5;  // it cannot be stopped at the moment

struct VictimCandidate {
  int rank = 0;
  Tid tid = 0;
};

// The number is bounded, so that a target with 10,000 threads is not read for a second. The
// kernel's own threads are left out, because they never make a call for us.
std::vector<Tid> first_threads(Pid pid);

// Returns these threads; the one that notices least comes first.
std::vector<VictimCandidate> victim_candidates(Pid pid, ForkingThreads& forking);

}  // namespace causalctl::tracee
