// The facilities of the kernel that causalctl relies on, by the names that messages, logs and
// `doctor` call them by.
//
// A hypervisor or a container may allow an event to be opened that then never fires. So each
// facility is tried on causalctl itself first, and counts as available only if it was seen to work.
// With CAUSALCTL_PRETEND_BROKEN tests make such a trial fail on any machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "controller/base/fields.h"

namespace causalctl {

enum class Facility : std::uint8_t {
  breakpoint,  // a hardware breakpoint by perf_event_open(2)
  uprobe,
  sample,         // of the task clock
  switch_record,  // PERF_RECORD_SWITCH
  wake_up,        // wake-ups, by the tracepoint sched:sched_waking
  sigtrap,        // an event that sends SIGTRAP
  bpf,            // a BPF program, run at an event
  clock,          // CLOCK_MONOTONIC in the records, as read from user space
  scheduler,      // switches and wake-ups of a process, by BPF programs
};

constexpr auto names_of(Facility) {
  return std::array<std::string_view, 9>{"breakpoint", "uprobe", "sample", "switch",   "wake-up",
                                         "sigtrap",    "bpf",    "clock",  "scheduler"};
}

// Returns whether the environment variable CAUSALCTL_PRETEND_BROKEN, a list of names separated by
// commas, has this facility. If so, a trial of it must count as failed, whatever was seen.
bool is_pretended_broken(Facility facility);

}  // namespace causalctl
