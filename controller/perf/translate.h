// Samples as the kernel writes them → events as the capabilities read them (pure).
#pragma once

#include <vector>

#include "controller/perf/events.h"
#include "controller/perf/record.h"

namespace causalctl::perf {

// The user addresses of a sample, innermost first. A sample in the kernel begins with the user code
// that made the call; empty where there is none (a kernel thread that works for the process).
std::vector<Address> user_callers(const SampleRecord& sample);

SampleEvent to_sample_event(const SampleRecord& sample, ThreadId thread, Nanoseconds period_ns,
                            std::uint64_t user_registers);

SwitchKind switch_kind(const SwitchRecord& record);

}  // namespace causalctl::perf
