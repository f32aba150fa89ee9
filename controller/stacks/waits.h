// What a thread waits in, in words: the system call, with what it waits for where its arguments
// tell that cheaply.
#pragma once

#include <functional>
#include <string>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::stacks {

// Returns "read", or "system call 999". Pure.
std::string call_name(long number);

// What is behind a descriptor of the process, "socket:[42]"; empty if unknown.
using DescriptorTarget = std::function<std::string(int descriptor)>;

// Returns "read(3: pipe:[42])", "futex(0x7f12ab40)", "nanosleep"; empty outside of system calls.
// `target` is asked at most once. Pure.
std::string text_of_wait(const procfs::OffCore& at, const DescriptorTarget& target);

// Reads the link /proc/PID/task/TID/fd/N.
std::string descriptor_target(Pid pid, Tid tid, int descriptor);

}  // namespace causalctl::stacks
