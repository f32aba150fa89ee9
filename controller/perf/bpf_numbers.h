// Which numbers of threads a BPF program must use so that they are those that we know.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::perf {

// The pid namespace whose numbers the kernel must report; nullopt: the initial one.
struct PidNamespace {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

// Throws Error if the target is in another namespace than we are.
std::optional<PidNamespace> namespace_of_numbers(Pid target);

// Tells a program with bpf/numbers.bpf.h, before it is loaded, which numbers those of this process
// and its threads are.
template <typename Constants>
void set_namespace_of(Constants& constants, Pid process) {
  const PidNamespace space = namespace_of_numbers(process).value_or(PidNamespace{});
  constants.namespace_device = space.device;
  constants.namespace_inode = space.inode;
}

}  // namespace causalctl::perf
