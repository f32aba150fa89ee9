// The threads of a process that fork. They must not be stopped beside a child if that can be
// avoided, because the child's end would wake another thread (docs/safety.md, "Forking targets").
//
// A thread in the midst of fork() has no child yet, and its child is born into the stop. So a
// thread that was seen with a child once counts as one that forks from then on.
#pragma once

#include <set>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::tracee {

class ForkingThreads {
 public:
  explicit ForkingThreads(Pid pid) : pid_(pid) {}

  // Polls `tids` a few times within 3 ms, without stopping anything.
  void poll(const std::vector<Tid>& tids);

  // Returns whether the thread has children, or had some at an earlier poll. False where the kernel
  // does not tell (CONFIG_PROC_CHILDREN).
  bool contains(Tid tid);

 private:
  Pid pid_;
  std::set<Tid> seen_;
};

}  // namespace causalctl::tracee
