// What the threads of a process may keep causalctl from: a thread with a real-time policy comes to
// a core before all others, and one that spins leaves them none. So causalctl runs above such a
// target, or refuses it, because it could neither end in time nor let go.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

struct Claims {
  int priority = 0;       // the highest one of SCHED_FIFO and SCHED_RR; 0: no thread has any
  Tid highest = 0;        // a thread that has it
  std::size_t count = 0;  // threads with SCHED_FIFO or SCHED_RR
  Tid deadline = 0;       // a thread of SCHED_DEADLINE, which comes before all; 0: none
  int nice = 0;           // the lowest nice value of the other threads
};

Claims claims_of(Pid pid);

// Returns the real-time priority at which a thread of causalctl comes before threads with these
// claims; nullopt if there is none. Pure.
std::optional<int> priority_above(const Claims& claims);
// Returns the priority that all threads of causalctl take which take a real-time one: the one
// above, or the highest that there is. Pure.
int own_priority(const Claims& claims);

// Returns why causalctl cannot come before the threads of `target`; nullopt if it can, or if cores
// are left to it, which are `cores` in all. `permitted`: it may have the priority above. Pure.
std::optional<Error> why_not_before(const Claims& claims, Pid target, std::size_t cores,
                                    bool permitted);

// When to look at the claims again, because threads may get them at any time: with many threads
// less often, so that a look takes a hundredth of the time at most.
class LookAgain {
 public:
  bool due() const { return monotonic_now() >= next_ns_; }
  Nanoseconds next_ns() const { return next_ns_; }
  Claims look(Pid target);

 private:
  Nanoseconds next_ns_ = 0;
};

}  // namespace causalctl::tracee
