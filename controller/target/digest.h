// The state of a process that a profile must not change, as lines "name: value". Everything is read
// from /proc and by process_vm_readv; nothing is stopped.
#pragma once

#include <cstdint>
#include <span>

#include "controller/base/types.h"
#include "controller/target/guardian.h"

namespace causalctl::target {

// `injection`: where our mapping was or is; all zero: never injected. `helper`: the guardian
// process.
Digest digest_of(Pid pid, const Injection& injection, Pid helper);

std::uint64_t fnv1a(std::span<const std::byte> bytes);  // pure

}  // namespace causalctl::target
