// Which signals a thread blocks by its own choice. glibc and musl block all signals in a thread
// that begins, ends, makes another thread or forks. That takes microseconds, but on an overloaded
// machine the thread may wait for a core meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "controller/base/types.h"

namespace causalctl::tracee {

// What one poll of a thread finds.
struct MaskPoll {
  std::uint64_t blocked = 0;
  char state = '?';  // as in procfs::Status
  std::uint64_t user_ticks = 0;
};

// Returns whether the mask seen now is the thread's own choice, where all signals were blocked at
// the first poll. It is if some are not blocked any more, if the thread slept at both polls, or if
// it has computed for longer in between than any library does with all signals blocked. (Time in
// the kernel does not count, because fork() of a large process takes long.) Pure.
bool is_own_mask(const MaskPoll& first, const MaskPoll& now);

// Returns the mask of the thread as it is now; nullopt if the thread is gone, or in a system call
// that has a mask of its own while it waits.
std::optional<std::uint64_t> mask_now(Pid pid, Tid tid);

// Returns the masks that are the threads' own choice. A thread for which that is unknown after some
// 50 ms is left out.
std::map<Tid, std::uint64_t> own_masks(Pid pid, std::span<const Tid> tids);

}  // namespace causalctl::tracee
