// Where a thread's stack pointer may be when it is shot. The kernel writes the frame of a signal
// below it, on the stack that the thread is on: up to 3.5 KiB with AVX-512, 11 with AMX. A
// coroutine on a stack of 2 to 4 KiB has no room for that: the frame meets a page that is not
// there, which ends the process, or, where stacks lie side by side in one mapping, is written into
// somebody else's.
//
// Nothing in the kernel says where a coroutine's stack ends. So a thread is shot only on a stack
// that is its own: the first one on the mapping [stack], others on the mapping that contains their
// thread control block, below it, where the C libraries put a thread's stack; with room for the
// frame above the mapping's begin. (An alternate stack for signals is the filter's to look at.)
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::pause {

struct StackRange {  // of the stack pointer
  Address low = 0;   // below it there is no room
  Address high = 0;  // the first that is not in it

  bool contains(Address pointer) const { return pointer >= low && pointer < high; }
};

// What a shot needs below the stack pointer, at most: red zone, frame, and what the stub uses.
std::uint64_t pause_frame_bytes();

// `map` contains the address `within`: the thread control block, or, of the first thread, where its
// stack began. `limit`: how far that one may grow. nullopt: it is no stack of a thread. Pure.
std::optional<StackRange> stack_in(const procfs::Map& map, bool first_thread, Address within,
                                   std::uint64_t limit, std::uint64_t frame_bytes);

// The C library's block for this thread, by its robust list (get_robust_list(2)); 0: not known.
Address control_block(Tid tid);

// nullopt: not known, or gone. `control_block` is not looked at for the first thread.
std::optional<StackRange> own_stack(Pid pid, Tid tid, Address control_block);

}  // namespace causalctl::pause
