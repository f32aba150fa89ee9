// The kernel's limit of samples, kernel.perf_event_max_sample_rate, and what it does to sampling.
// Pure.
//
// Of one event at most limit/HZ samples, rounded up, are taken in a tick. The one that uses this up
// stops the event (PERF_RECORD_THROTTLE) until the next tick, or until its thread comes to a core
// again (PERF_RECORD_UNTHROTTLE). The kernel lowers the limit by itself where samples take it long
// (perf_sample_event_took() of kernel/events/core.c).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::perf {

// The shortest mean period, jittered by a quarter, of which (hardly) a sample is too much in a
// tick. At a limit of HZ and below each is, whatever its period: no longer period serves better.
Nanoseconds shortest_period(std::uint64_t limit_per_s);

// Of the sampling event of one thread. By records, in the order of their ring.
class Throttling {
 public:
  void begin(Nanoseconds time_ns) { since_ns_ = time_ns; }
  void end(Nanoseconds time_ns);  // by the kernel

  // The thread comes to a core, and leaves it.
  void comes(Nanoseconds time_ns) { on_core_since_ns_ = time_ns; }
  void leaves(Nanoseconds time_ns);
  // The time for which the thread has been on a core between the sample before this one and this
  // one. nullopt: not known.
  std::optional<Nanoseconds> take_ran(Nanoseconds time_ns);

  struct Worth {
    Nanoseconds sampled_ns = 0;    // CPU time that a sample stands for
    Nanoseconds unsampled_ns = 0;  // … before it for which no sample stands
  };
  // Of a sample, where the event has counted `passed_ns` since the one before; without throttling
  // it stands for `most_ns` at most. Where the event was stopped in between it stands for that
  // time, too: as with a longer period the next sample is one that comes at a random time, as far
  // as the program's rhythm is not the tick's. Not where that was long, nor in a kernel whose
  // events do not count while they are stopped. An event that has been stopped may count up to a
  // tick twice (seen: Linux 6.18): more than the thread has run is not believed.
  Worth take_worth(Nanoseconds passed_ns, Nanoseconds most_ns, std::optional<Nanoseconds> ran_ns);

 private:
  Nanoseconds since_ns_ = 0;  // 0: it is not stopped
  Nanoseconds stopped_ns_ = 0;
  Nanoseconds on_core_since_ns_ = 0;  // 0: it is on none, or that is not known
  Nanoseconds ran_ns_ = 0;            // before that
  bool sampled_ = false;              // since the first sample it is known when it runs
};

}  // namespace causalctl::perf
