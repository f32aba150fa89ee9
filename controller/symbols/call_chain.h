// The call chain of a sample: by the kernel's frame pointers, or by unwinding the stack that was
// copied with it, as most programs keep no frame pointers.
//
// A chain begins with the instruction that was executed; its other entries are return addresses,
// innermost first.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::symbols {

// How much of the stack is copied with a sample whose callers are needed.
inline constexpr unsigned kStackBytes = 8192;

// The address to look up for an entry of a chain. A return address may be the first of the next
// line, or of another function; the byte before it is part of the call.
inline Address code_at(const std::vector<Address>& chain, std::size_t index) {
  return index == 0 ? chain[index] : chain[index] - 1;
}

// The copied registers; those that were not are 0.
unwind::Registers registers_of(const perf::UserStack& user);

// REQUIRES: registers were copied with the sample. At most `depth` entries. `kernel_chain` is that
// of the sample, if it is known (Unwinder::unwind_chain).
std::vector<Address> unwound(const perf::UserStack& user, unwind::Unwinder& unwinder,
                             std::size_t depth, const std::vector<Address>& kernel_chain = {});
// The same with the details of each frame. Valid until the unwinder's next chain.
const unwind::Chain& unwound_chain(const perf::SampleEvent& sample, unwind::Unwinder& unwinder,
                                   std::size_t depth);

// By the copied stack, or, where none was copied or it tells of no caller, by frame pointers.
std::vector<Address> chain_of(const perf::SampleEvent& sample, unwind::Unwinder& unwinder);

}  // namespace causalctl::symbols
