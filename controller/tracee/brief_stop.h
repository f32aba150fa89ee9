// Stops one thread for as long as it takes to look at it, and lets it go on as if it had never been
// stopped: a signal that comes meanwhile is delivered, a thread that a signal has stopped stays
// stopped, and an interrupted system call goes on.
//
// A tracer is a thread: what it has seized is let go when it ends, however that happens. So an
// object is made, used and destroyed in one thread, which ends soon afterwards.
#pragma once

#include <functional>
#include <vector>

#include "controller/base/types.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {

enum class StopOutcome {
  done,
  gone,     // the thread has ended
  refused,  // by the kernel: it is traced already, or may not be traced
  late      // it did not stop in time
};

struct StopTimes {
  Nanoseconds held_ns = 0;  // from the moment that we knew of the stop until it was let go
  // From the interrupt until it was let go; it stood still for no longer. It may have waited for a
  // core in this time, or have been in the kernel.
  Nanoseconds at_most_ns = 0;
};

class BriefStops {
 public:
  BriefStops() = default;
  BriefStops(const BriefStops&) = delete;
  BriefStops& operator=(const BriefStops&) = delete;
  ~BriefStops();  // waits a moment for those that were late

  // Calls `look` while the thread stands still. REQUIRES: SIGCHLD is blocked in all threads of
  // ours.
  StopOutcome stop(Tid tid, Nanoseconds patience_ns,
                   const std::function<void(const ptrace::Registers&)>& look, StopTimes& times);

 private:
  void await_late(Nanoseconds deadline_ns);

  std::vector<Tid> late_;
};

}  // namespace causalctl::tracee
