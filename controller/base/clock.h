// Clocks. Pure files never include this header: their time comes in with the events.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl {

Nanoseconds monotonic_now();                // CLOCK_MONOTONIC
Nanoseconds realtime_now();                 // CLOCK_REALTIME, ns since 1970
Nanoseconds boottime_now();                 // CLOCK_BOOTTIME, which goes on in suspend
Nanoseconds process_cpu_now();              // CPU time of all threads of this process
void sleep_until(Nanoseconds deadline_ns);  // CLOCK_MONOTONIC; returns early on a signal

// Limits how long another process is waited for by polling it. Of a poll that takes longer than
// `longest_poll_ns` only that much is counted: the machine has stalled, and the other process has
// not run either.
class Patience {
 public:
  explicit Patience(Nanoseconds limit_ns, Nanoseconds longest_poll_ns = 20 * kMillisecond)
      : left_ns_(limit_ns), longest_poll_ns_(longest_poll_ns), last_ns_(monotonic_now()) {}

  bool over();  // must be called once a poll

 private:
  Nanoseconds left_ns_;
  Nanoseconds longest_poll_ns_;
  Nanoseconds last_ns_;
};

// The clock that experiments are timed by: the machine's, or that of a simulation (tests/sim).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;
  virtual void sleep_until(Nanoseconds deadline_ns) = 0;  // may return early
  // the core that the caller has run on since its last sleep
  virtual std::uint32_t core() const = 0;
};

}  // namespace causalctl
