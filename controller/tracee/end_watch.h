// How a process that is not ours to wait for has ended.
#pragma once

#include <optional>

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

class EndWatch {
 public:
  explicit EndWatch(Pid target);

  // Returns the status as wait(2) gives it, or nullopt if the process has not ended or that cannot
  // be known. It comes from /proc until the parent has waited, otherwise from the pidfd
  // (Linux 6.15).
  std::optional<int> wait_status() const;

 private:
  Pid target_;
  Fd pidfd_;
};

}  // namespace causalctl::tracee
