// The child that becomes the target of `causalctl run`. It is forked by the controller, not by the
// guardian, so that it keeps the terminal, the process group and the parent that the user expects.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/base/helper_process.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

struct Launch {  // what `causalctl run` starts
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // over ours
  std::string directory;                           // empty: ours
};

// Waits for its end for a second at most, because another process may trace it.
void kill_and_reap(Pid child);

class LaunchedChild {
 public:
  // Forks a child that waits, and ends where the object does before execute(). `tracer` may trace
  // it, whatever Yama says. Throws Error.
  LaunchedChild(const Launch& launch, Pid tracer);

  Pid pid() const { return child_.pid(); }
  // Lets it execute its program; returns when it has. Throws UsageError that names the command, or
  // Error where the child cannot be told; then the child ends.
  void execute();

 private:
  HelperProcess child_;
};

}  // namespace causalctl::tracee
