// Tries of what a session relies on, each on a thread of ours: a hypervisor or a container may let
// an event be opened that never fires.
//
// Each try opens its event in the way a session does, does what must fire it, and reads the record
// from a ring. It is made three times before it is given up, for the machine may stall. All of them
// together take some milliseconds where everything works, and leave nothing behind.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/trial.h"

namespace causalctl::perf {

// Requires that nobody else has events on the calling thread's ring. None of these throws.
Trial try_sample();  // of the task clock, while the thread runs user code
Trial try_clock();   // a record's time lies between two readings of CLOCK_MONOTONIC
Trial try_switch_record();
Trial try_wake_up();  // sched:sched_waking: the record names the thread that was woken

// The four of them.
std::vector<Trial> try_all();

// The frame of every try: `once` says what it saw, or nullopt for nothing; it may throw Error where
// the event cannot be opened. `nothing` says what did not come. Heeds is_pretended_broken().
Trial try_out(Facility facility, std::string nothing,
              const std::function<std::optional<std::string>()>& once);

// Why the time of a record is none between these two readings of the clock; empty: it is. Pure.
std::string wrong_time(Nanoseconds before_ns, Nanoseconds time_ns, Nanoseconds after_ns);

}  // namespace causalctl::perf
