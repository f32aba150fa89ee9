// Unwinds a stopped thread by libunwind-ptrace, which reads the target word by word and searches
// its tables anew for each thread: too slow for a stop that should be short, but written by others,
// and so what our own unwinding is compared with.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::tracee {

struct ReferenceWalk {
  std::vector<Address> chain;  // the instruction pointer, then return addresses
  bool complete = false;       // it ended at the outermost frame
};

// REQUIRES: the calling thread has stopped `tid` by ptrace. At most `depth` addresses.
ReferenceWalk reference_walk(Tid tid, std::size_t depth);

}  // namespace causalctl::tracee
