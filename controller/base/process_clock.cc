#include "controller/base/process_clock.h"

#include <time.h>

namespace causalctl {

std::optional<Nanoseconds> process_cpu_of(Pid pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace causalctl
