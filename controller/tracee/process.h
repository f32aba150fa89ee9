// The target as seen from outside without stopping it: its memory, and what its threads are doing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::tracee {

// What /proc/PID/task/TID/syscall says of a thread.
struct Activity {
  enum class Kind {
    running,     // on a core or waiting for one
    in_syscall,  // blocked in system call `number`
    blocked      // blocked, but not in a system call: a page fault, a signal's frame, a stop
  };
  Kind kind = Kind::running;
  long number = -1;
  Address instruction = 0;  // where it goes on in user code; 0 while running
};

std::optional<Activity> parse_activity(std::string_view text);  // pure
// Returns nullopt if the thread is gone, or access is forbidden.
std::optional<Activity> activity(Pid pid, Tid tid);

// Return false (nullopt) if the process or the mapping is gone, or access is forbidden.
[[nodiscard]] bool read_memory(Pid pid, Address address, std::span<std::byte> into);
[[nodiscard]] bool write_memory(Pid pid, Address address, std::span<const std::byte> from);

template <typename T>
[[nodiscard]] std::optional<T> read_object(Pid pid, Address address) {
  T object{};
  if (!read_memory(pid, address, std::as_writable_bytes(std::span(&object, 1)))) {
    return std::nullopt;
  }
  return object;
}

// Returns the address of a system-call instruction in the target: in the vDSO, otherwise in any
// executable mapping.
std::optional<Address> find_syscall_instruction(Pid pid);

// Returns 0 where the kernel lets us ptrace it, otherwise the errno with which it refuses.
int trace_error(Pid pid);

std::vector<int> usable_cores(Pid pid);  // by the affinities of all threads; never empty

struct Traced {
  Tid thread = 0;
  Pid tracer = 0;
};
// Returns the first thread that is traced by another process than the caller.
std::optional<Traced> traced_by_other(Pid pid);

bool is_stopped(Pid pid);  // by a signal (SIGSTOP, …), not by a tracer

std::string process_name(Pid pid);  // /proc/PID/comm, "?" when it is gone

// Returns the name of the program as it was started (a link, or a script) where its file has
// another one, otherwise, or where that cannot be read, nothing. redis-server is a link to
// redis-check-rdb.
std::string started_as(Pid pid);
// Does the same by the path that was executed and that of the file. Pure.
std::string other_name(std::string_view executed, std::string_view file);

}  // namespace causalctl::tracee
