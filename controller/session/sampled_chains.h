// Samples the call chains of a target, to tell where it spends its time. Puts nothing into the
// target.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "controller/base/types.h"
#include "controller/symbols/mappings.h"

namespace causalctl::session {

struct ChainSampling {
  Nanoseconds length_ns = 0;
  Nanoseconds period_ns = 0;  // CPU time of a thread from one of its samples to the next
  std::size_t most = 0;       // most samples to take; 0 for any number
};

struct ChainHooks {
  // Gets each chain as symbols::chain_of() returns it, empty for a kernel thread that works for the
  // process.
  std::function<void(std::vector<Address> chain)> take;
  symbols::MappingFollower* follower = nullptr;  // is told of mappings in step with the chains
  std::function<void()> waits = [] {};           // called some times a second
};

// Returns when the time is over, when there are enough samples, or when the target has ended.
// Throws Error as perf::Session does.
void sample_chains(Pid target, const ChainSampling& sampling, const ChainHooks& hooks);

}  // namespace causalctl::session
