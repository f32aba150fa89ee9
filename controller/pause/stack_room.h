// Where a thread's stack pointer may be when it is shot. The kernel writes the frame of a signal
// below it, on the stack that the thread is on: up to 3.5 KiB with AVX-512, and 11 with AMX. A
// coroutine on a stack of 2 to 4 KiB has no room for that. Its frame would hit an unmapped page,
// which ends the process, or overwrite another stack if several lie side by side in one mapping.
//
// Nothing in the kernel says where a coroutine's stack ends. So a thread is shot only on its own
// stack, with room for the frame above the begin of the mapping. The main thread's stack is the
// mapping [stack]. That of another thread is the part of a mapping below its thread control block,
// where C libraries put it. (Alternate signal stacks are checked by the filter.)
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::pause {

struct StackRange {  // a range of the stack pointer
  Address low = 0;   // below it there is not enough room
  Address high = 0;  // the first address that is not in the range

  bool contains(Address pointer) const { return pointer >= low && pointer < high; }
};

// Returns the most that a shot needs below the stack pointer: red zone, frame, and the stub's own
// use.
std::uint64_t pause_frame_bytes();

// `map` contains the address `within`: the thread control block, or the begin of the main thread's
// stack. `limit` says how far the main thread's stack may grow. Returns nullopt if the map is no
// thread's stack. Pure.
std::optional<StackRange> stack_in(const procfs::Map& map, bool first_thread, Address within,
                                   std::uint64_t limit, std::uint64_t frame_bytes);

// Returns the C library's block for this thread, by its robust list (get_robust_list(2)), or 0 if
// unknown.
Address control_block(Tid tid);

// Returns nullopt if it is unknown or the thread is gone. `control_block` is ignored for the main
// thread.
std::optional<StackRange> own_stack(Pid pid, Tid tid, Address control_block);

}  // namespace causalctl::pause
