// Which ways of counting visits were seen to work on this machine, and what one visit costs by
// each.
//
// A hypervisor may allow a hardware breakpoint to be opened that then never fires. So each way is
// tried once in this process, on a function of ours. It counts as available only if every call was
// counted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/perf/uprobes.h"

namespace causalctl::perf {

// `cost_ns` is what one visit costs the thread that makes it: the trap and its record. It holds for
// an instruction that the kernel executes elsewhere by a single step, which takes a second trap.
struct UprobeTrial : Trial {
  Nanoseconds emulated_cost_ns = 0;  // for an instruction that the kernel emulates (is_emulated())
  std::optional<Uprobes::Means> means{};  // nullopt: only by an event for each thread and place
};

// Returns, by the bytes of one instruction, whether the kernel emulates it at a uprobe: nops, near
// jumps and calls, pushes of a register (arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and
// push_setup_xol_ops()). Pure.
bool is_emulated(std::span<const std::byte> instruction);

// Returns the result for a way that counted `counted` of the visits that were made. Pure.
Trial trial_of_visits(Facility facility, std::uint64_t counted, std::uint64_t made,
                      Nanoseconds cost_ns);

// Each takes some milliseconds. None throws.
Trial try_breakpoint();
UprobeTrial try_uprobes();

// Returns whether the program that counts hits of uprobes also copies their stacks here, as tried
// at the first call in this process.
bool copies_are_seen();

// Return whether a program counts system calls here, and whether programs also copy the stacks of
// these, and of page faults, as tried at the first call in this process.
bool calls_are_counted();
bool calls_are_copied();
bool page_faults_are_copied();

int free_debug_registers();  // of this thread: how many perf events can have

// Return what the trials found at their first call in this process.
const Trial& breakpoint_trial();
const UprobeTrial& uprobe_trial();

}  // namespace causalctl::perf
