// A process that runs already, as a side of a comparison.
#pragma once

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::compare {

class Running {
 public:
  explicit Running(Pid pid);

  Pid pid() const { return pid_; }
  // Returns true also if another process has its number now.
  bool has_ended() const;

 private:
  Pid pid_;
  Fd pidfd_;
};

}  // namespace causalctl::compare
