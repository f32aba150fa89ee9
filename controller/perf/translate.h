// Translates samples as the kernel writes them into events as the capabilities read them. Pure.
#pragma once

#include <vector>

#include "controller/perf/events.h"
#include "controller/perf/record.h"

namespace causalctl::perf {

// Returns the user addresses of a sample, innermost first. For a sample in the kernel the first one
// is the user code that made the call. They are empty if there is no user code (a kernel thread
// that works for the process).
std::vector<Address> user_callers(const SampleRecord& sample);

// Returns the kernel's addresses of a sample, innermost first.
std::vector<Address> kernel_callers(const SampleRecord& sample);

SampleEvent to_sample_event(const SampleRecord& sample, ThreadId thread, Nanoseconds period_ns,
                            std::uint64_t user_registers);

SwitchKind switch_kind(const SwitchRecord& record);

}  // namespace causalctl::perf
