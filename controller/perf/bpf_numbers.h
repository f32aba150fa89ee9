// How a BPF program learns which thread runs it, in the numbers that we know.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"
#include "controller/perf/bpf_code.h"

namespace causalctl::perf {

// The pid namespace whose numbers the kernel must report; nullopt: the initial one.
struct PidNamespace {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

// Throws Error if the target is in another namespace than we are.
std::optional<PidNamespace> namespace_of_numbers(Pid target);

// Sets r7 to the thread's number and r8 to its process's; jumps to `none` if it has no number in
// the namespace. Uses r0 to r4 and the stack's first word.
void put_numbers(BpfCode& code, const std::optional<PidNamespace>& space, BpfCode::Label none);

}  // namespace causalctl::perf
