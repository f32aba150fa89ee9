// Reads and writes the memory of another process, by process_vm_readv(2) and process_vm_writev(2).
// Where a seccomp filter forbids these, /proc/PID/mem does the same: the kernel makes the same
// check when it is opened.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "controller/base/types.h"

namespace causalctl {

// Return how many bytes were transferred, up to the first page that cannot be, or -1 and errno:
// ESRCH if the process is gone, EPERM if it may not be read, EFAULT if there is no such memory.
ssize_t read_foreign(Pid pid, Address address, std::span<std::byte> into);
ssize_t write_foreign(Pid pid, Address address, std::span<const std::byte> from);

}  // namespace causalctl
