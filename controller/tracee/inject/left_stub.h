// A pause stub that is in a process already: that of another causalctl that is at work there, or
// one that was left there, because a causalctl was killed together with its guardian, or because
// the process was forked by a target (docs/safety.md, "When we die").
//
// Its owner stands beside it, at the end of its scratch page, as the numbers and start times of
// processes. If one of them lives, the stub must stay: perf events that belong to a living
// controller may fire at any time, and their SIGTRAP would end a process whose handler is gone.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/priority_boost.h"
#include "controller/tracee/inject/stub.h"

namespace causalctl::tracee {

struct ProcessMark {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;  // procfs::parse_start_ticks; with the pid, it is one process only
};

struct Owner {
  // The thread that the guardian has stopped last. It is in front because the rest stands at the
  // end of the page, where earlier versions look for it and have put it.
  SchedulingBefore before_boost;
  // Inodes of the namespaces in which the numbers hold; 0: no owner was written.
  std::uint64_t pid_namespace = 0;
  std::uint64_t time_namespace = 0;
  ProcessMark target;
  ProcessMark controller;
  ProcessMark guardian;
};

enum class OwnerState {
  at_work,
  gone,    // no process will take the stub out, and nothing is armed
  unknown  // it belongs to another namespace, say, or to another process, whose child this one is
};

struct LeftStub {
  Address code = 0;
  StubParameters parameters;
  Owner owner;
};

// The processes are in the caller's namespaces. One that cannot be read gets start_ticks 0.
Owner make_owner(Pid target, Pid controller, Pid guardian);

// Of a stub found in `target`.
OwnerState state_of(const Owner& owner, Pid target);

// Returns the pid of the controller, if that is at work, otherwise of its guardian. REQUIRES:
// OwnerState::at_work.
Pid who_lives(const Owner& owner);

// Returns where in the target the owner stands, given StubParameters::slots_end.
Address owner_address(Address slots_end);

// More than any causalctl injects.
inline constexpr std::uint64_t kSlotsLimit = 1U << 16;

// Throws Error if another causalctl is at work with it: two would measure each other's pauses.
void refuse_if_at_work(const LeftStub& stub, Pid target);

// Returns whether a stub with these parameters, in the mapping `code`, lies there as the injector
// lays it out, because the target may have written anything. Pure.
bool is_laid_out(const procfs::Map& code, const procfs::Map& data,
                 const StubParameters& parameters);

// Returns the first one in the target's mappings; nullopt if there is none, or they cannot be read.
// Stops nothing.
std::optional<LeftStub> find_left_stub(Pid target);

}  // namespace causalctl::tracee
