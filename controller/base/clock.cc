#include "controller/base/clock.h"

#include <algorithm>
#include <ctime>

namespace causalctl {
namespace {

Nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace

Nanoseconds monotonic_now() { return read_clock(CLOCK_MONOTONIC); }
Nanoseconds realtime_now() { return read_clock(CLOCK_REALTIME); }
Nanoseconds boottime_now() { return read_clock(CLOCK_BOOTTIME); }
Nanoseconds process_cpu_now() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

void sleep_until(Nanoseconds deadline_ns) {
  const timespec deadline{deadline_ns / kSecond, deadline_ns % kSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr);
}

bool Patience::over() {
  const Nanoseconds now_ns = monotonic_now();
  left_ns_ -= std::min(now_ns - last_ns_, longest_poll_ns_);
  last_ns_ = now_ns;
  return left_ns_ < 0;
}

}  // namespace causalctl
