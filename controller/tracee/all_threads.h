#pragma once

#include <algorithm>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

// Returns the threads of a process, in order. A single listing may leave out the threads behind one
// that ends just then (next_tid() of fs/proc/base.c).
inline std::vector<Tid> all_threads(Pid pid) {
  auto tids = procfs::threads(pid);
  const auto again = procfs::threads(pid);
  tids.insert(tids.end(), again.begin(), again.end());
  std::sort(tids.begin(), tids.end());
  tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
  return tids;
}

}  // namespace causalctl::tracee
