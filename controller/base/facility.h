// The facilities of the kernel that causalctl relies on, by the names that messages, logs and
// `doctor` call them by.
//
// A hypervisor or a container may let an event be opened that never fires. So each facility is
// tried on ourselves before it is relied on, and counts as available only where it was seen to
// work. CAUSALCTL_PRETEND_BROKEN is the seam by which tests make such a try fail on any machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace causalctl {

enum class Facility : std::uint8_t {
  breakpoint,  // a hardware breakpoint by perf_event_open(2)
  uprobe,
  sample,         // of the task clock
  switch_record,  // PERF_RECORD_SWITCH
  wake_up,        // the tracepoint sched:sched_waking
  sigtrap,        // an event that sends SIGTRAP
  bpf,            // a BPF program, run at an event
  clock,          // CLOCK_MONOTONIC in the records, as we read it
};

// "breakpoint", "uprobe", "sample", "switch", "wake-up", "sigtrap", "bpf", "clock".
std::string_view name_of(Facility facility);

// Whether the environment variable CAUSALCTL_PRETEND_BROKEN, names separated by commas, has this
// facility: a try of it must then be taken to have failed, whatever was seen.
bool is_pretended_broken(Facility facility);

}  // namespace causalctl
