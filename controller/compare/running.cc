#include "controller/compare/running.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "controller/base/procfs.h"

namespace causalctl::compare {

Running::Running(Pid pid) : pid_(pid), pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

// A pidfd is readable once its process has ended, whoever has the number since (pidfd_open(2)).
bool Running::has_ended() const {
  pollfd ended{pidfd_.get(), POLLIN, 0};
  return procfs::has_ended(pid_) || (pidfd_.get() >= 0 && poll(&ended, 1, 0) > 0);
}

}  // namespace causalctl::compare
