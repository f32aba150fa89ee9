// Reads where a blocked thread stands, and its stack, without a stop.
//
// /proc/PID/task/TID/syscall has the stack pointer, the instruction pointer and the arguments of
// the system call, but no register that a function saves: a frame whose rule needs one, as most
// with a frame pointer do, ends an unwinding from them. The thread may wake at any time, so that
// what is read counts only if it has not come to a core meanwhile: the kernel counts that in
// schedstat, and how often it has left one in status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::unwind {

inline constexpr std::size_t kLargestStackCopy = 8U << 20U;

// Returns how many bytes of stack there are to copy, from `sp` up to the end of its mapping or, if
// it is lower, that of the thread: 0 if `sp` is in no mapping that can be read. `thread_block` is
// the base of FS, where the C libraries put the thread's block, on top of its stack; 0 if it is not
// known. Where nothing says that the mapping is one stack, it is 256 KiB at most, otherwise
// kLargestStackCopy. Pure.
std::size_t bytes_of_stack(const std::vector<procfs::Map>& maps, Address sp, Address thread_block);

struct BlockedStack {
  char state = '?';  // as in procfs::Status
  procfs::OffCore at;
  std::vector<std::byte> stack;  // from at.stack_pointer on
  Registers registers() const;   // those that are not known are such that no rule can use them
};

// Returns nullopt if the thread runs, or is gone, or access is forbidden.
std::optional<procfs::OffCore> off_core(Pid pid, Tid tid);

// Returns nullopt if the thread runs, or ran meanwhile, or is gone, or access is forbidden.
std::optional<BlockedStack> read_blocked_stack(Pid pid, Tid tid,
                                               const std::vector<procfs::Map>& maps);

}  // namespace causalctl::unwind
