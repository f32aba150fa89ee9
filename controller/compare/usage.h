// Reads from outside what a running process and its descendants have used so far (proc(5),
// clock_getcpuclockid(3)). Shell.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::compare {

struct ProcessUsage {
  Nanoseconds cpu_ns = 0;        // of all its threads, including ended ones
  std::uint64_t peak_bytes = 0;  // of resident memory since its start (VmHWM)
  std::uint64_t now_bytes = 0;   // resident (VmRSS)
  Nanoseconds children_ns = 0;   // CPU time of children that have ended and been waited for
};

struct Snapshot {
  std::map<Pid, ProcessUsage> processes;
  std::map<Tid, std::uint64_t> switches;  // voluntary and involuntary
};

Snapshot snapshot(Pid pid);  // empty if the process is gone

// What the processes alive at the second of two snapshots have used since the first. Pure.
struct Usage {
  Nanoseconds cpu_ns = 0;      // includes their ended children
  std::uint64_t switches = 0;  // without threads that ended in between
  std::uint64_t peak_bytes = 0;
  std::uint64_t now_bytes = 0;
};
Usage used_between(const Snapshot& before, const Snapshot& after);

// Whether the kernel reaps the children of the process: nobody gets their CPU time. A process may
// do so without ignoring SIGCHLD, too (SA_NOCLDWAIT), which cannot be seen from outside.
bool ignores_ends_of_children(Pid pid);

// Returns the number after "name:" in a text such as /proc/PID/status, or 0 if there is none. Pure.
std::uint64_t status_number(std::string_view text, std::string_view name);

}  // namespace causalctl::compare
