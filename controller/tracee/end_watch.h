// How a process that is not ours to wait for has ended.
#pragma once

#include <optional>

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

class EndWatch {
 public:
  explicit EndWatch(Pid target);

  // As wait(2) gives it: from /proc, as long as nobody has waited for it, else from the pidfd
  // (Linux 6.15). nullopt: it has not ended, or that cannot be known.
  std::optional<int> wait_status() const;

 private:
  Pid target_;
  Fd pidfd_;
};

}  // namespace causalctl::tracee
