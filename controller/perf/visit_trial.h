// Which ways of counting visits were seen to work on this machine, and what one visit costs there.
//
// A hypervisor may let a hardware breakpoint be opened that never fires. So each way is tried once
// a process, on a function of ours: it counts as available only if every call was counted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/perf/uprobes.h"

namespace causalctl::perf {

// `cost_ns`: what one visit costs the thread that makes it: the trap, and the record of it. For an
// instruction that the kernel executes by a single step, elsewhere, that takes a second trap.
struct UprobeTrial : Trial {
  Nanoseconds emulated_cost_ns = 0;       // of one that the kernel emulates (is_emulated())
  std::optional<Uprobes::Means> means{};  // nullopt: only by an event for each thread and place
};

// Pure. By the bytes of one instruction: whether the kernel emulates it at a uprobe: nops, near
// jumps and calls, pushes of a register (arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and
// push_setup_xol_ops()).
bool is_emulated(std::span<const std::byte> instruction);

// What it says of a way of counting that it has counted so many of the visits that were made. Pure.
Trial trial_of_visits(Facility facility, std::uint64_t counted, std::uint64_t made,
                      Nanoseconds cost_ns);

// Some milliseconds each. Never throw.
Trial try_breakpoint();
UprobeTrial try_uprobes();

int free_debug_registers();  // of this thread, that perf events can have

// What they found at their first call in this process.
const Trial& breakpoint_trial();
const UprobeTrial& uprobe_trial();

}  // namespace causalctl::perf
