// The kernel's limit on samples, kernel.perf_event_max_sample_rate, and what it does to sampling.
// Pure.
//
// In each tick the kernel takes at most limit/HZ samples, rounded up, of one event. The sample that
// reaches the limit stops the event (PERF_RECORD_THROTTLE) until the next tick, or until its thread
// gets a core again (PERF_RECORD_UNTHROTTLE). The kernel lowers the limit by itself if taking
// samples takes it long (perf_sample_event_took() of kernel/events/core.c).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::perf {

// Returns the shortest mean period, jittered by a quarter, with which hardly any sample reaches the
// limit. If the limit is HZ or less, every sample reaches it, so a longer period would not help.
Nanoseconds shortest_period(std::uint64_t limit_per_s);

// Follows the sampling event of one thread by its records, in the order of their ring.
class Throttling {
 public:
  void begin(Nanoseconds time_ns) { since_ns_ = time_ns; }
  void end(Nanoseconds time_ns);  // when the kernel lets the event count again

  // The thread gets a core; it leaves its core.
  void comes(Nanoseconds time_ns) { on_core_since_ns_ = time_ns; }
  void leaves(Nanoseconds time_ns);
  // Returns for how long the thread has been on a core between its sample before and this one, or
  // nullopt if unknown.
  std::optional<Nanoseconds> take_ran(Nanoseconds time_ns);

  struct Worth {
    Nanoseconds sampled_ns = 0;    // CPU time that a sample stands for
    Nanoseconds unsampled_ns = 0;  // CPU time before it for which no sample stands
  };
  // Says what a sample stands for, if the event has counted `passed_ns` since the one before.
  // Without throttling this is at most `most_ns`. If the event was stopped in between, the sample
  // stands for that time, too: as with a longer period, the next sample comes at a random time,
  // unless the program's rhythm is that of the tick. This does not hold if the event was stopped
  // for long, nor in a kernel whose events do not count while they are stopped. An event that was
  // stopped may count up to a tick twice (seen: Linux 6.18), so the time is limited to what the
  // thread has run.
  Worth take_worth(Nanoseconds passed_ns, Nanoseconds most_ns, std::optional<Nanoseconds> ran_ns);

 private:
  Nanoseconds since_ns_ = 0;  // 0 if it is not stopped
  Nanoseconds stopped_ns_ = 0;
  Nanoseconds on_core_since_ns_ = 0;  // 0 if it is on none, or if that is unknown
  Nanoseconds ran_ns_ = 0;            // before on_core_since_ns_
  // True once there was a sample: from then on it is known when the thread runs.
  bool sampled_ = false;
};

}  // namespace causalctl::perf
