// The child that becomes the target of `causalctl run`. It is forked by the controller, not by the
// guardian, so that it keeps the terminal, the process group and the parent that the user expects.
#pragma once

#include <sys/types.h>

#include <string>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::tracee {

// For a second at most, as somebody else may trace it.
void kill_and_reap(Pid child);

class LaunchedChild {
 public:
  // Forks a child that waits. `tracer` may trace it, whatever Yama says. Throws Error.
  LaunchedChild(const Launch& launch, Pid tracer);

  Pid pid() const { return pid_; }
  // Lets it execute its program; returns when it has. Throws UsageError naming the command.
  void execute();

 private:
  struct Failure {
    int error_number = 0;
    bool in_directory = false;
  };

  [[noreturn]] void run(const Launch& launch, Pid tracer);

  Pid pid_ = 0;
  std::string command_;
  std::string directory_;
  Fd go_;       // closing it without a word makes the child exit
  Fd failure_;  // the child's word about what failed; closed by a successful exec
  Fd child_go_;
  Fd child_failure_;
};

}  // namespace causalctl::tracee
