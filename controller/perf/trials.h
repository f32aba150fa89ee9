// Trials of what a session relies on, each on a thread of ours, because a hypervisor or a container
// may allow an event to be opened that never fires.
//
// Each trial opens its event as a session does, does what must fire it, and reads the record from a
// ring. It is made up to three times, because the machine may stall. All of them together take some
// milliseconds if everything works, and leave nothing behind.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/trial.h"
#include "controller/perf/scheduler_watch.h"
#include "controller/perf/thread_events.h"

namespace causalctl::perf {

// None of these throws. REQUIRES: no other code has events on the calling thread's ring.
Trial try_sample();  // samples of the task clock, while the thread runs user code
Trial try_clock();   // a record's time lies between two readings of CLOCK_MONOTONIC
Trial try_switch_record();
Trial try_wake_up();  // sched:sched_waking: the record names the thread that was woken

// Returns a started watch of no process, if what a thread of ours did was seen by it: that it left
// its core and came back, that it was sampled then, that it woke another one, and that a timer did
// in an interrupt. `trial` says what was seen, or why not. Takes some 50 ms, in which the kernel's
// description of its types is read. What is not wanted is neither followed nor tried.
std::optional<SchedulerWatch> try_scheduler(Trial& trial, const SchedulerWatch::Wanted& wanted);

// Makes the first four.
std::vector<Trial> try_all();

// A plan for own_events() to which what is to be tried is added.
ThreadPlan nothing_but_bookkeeping();
// Opens events on the calling thread as on a thread of the target, and lets them run.
ThreadEvents own_events(ThreadPlan plan, Nanoseconds period_ns);

// The frame of every trial. `once` returns what it saw, or nullopt if it saw nothing; it may throw
// Error if the event cannot be opened. `nothing` says what did not come. is_pretended_broken()
// makes it fail.
Trial try_out(Facility facility, std::string nothing,
              const std::function<std::optional<std::string>()>& once);

// Returns why the time of a record does not lie between these two readings of the clock, or "" if
// it does. Pure.
std::string wrong_time(Nanoseconds before_ns, Nanoseconds time_ns, Nanoseconds after_ns);

}  // namespace causalctl::perf
