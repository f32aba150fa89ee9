// What a running process and its descendants have used so far, read from outside (proc(5),
// clock_getcpuclockid(3)). Shell.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::compare {

struct ProcessUsage {
  Nanoseconds cpu_ns = 0;        // of all its threads, ended ones included
  std::uint64_t peak_bytes = 0;  // of resident memory, since its start (VmHWM)
  std::uint64_t now_bytes = 0;   // resident (VmRSS)
  Nanoseconds children_ns = 0;   // CPU time of those that have ended and been waited for
};

struct Snapshot {
  std::map<Pid, ProcessUsage> processes;
  std::map<Tid, std::uint64_t> switches;  // voluntary and not
};

Snapshot snapshot(Pid pid);  // empty: it is gone

// Used between two snapshots by what was alive at the second. Pure.
struct Usage {
  Nanoseconds cpu_ns = 0;      // of their ended children, too
  std::uint64_t switches = 0;  // threads that ended in between are missing
  std::uint64_t peak_bytes = 0;
  std::uint64_t now_bytes = 0;
};
Usage used_between(const Snapshot& before, const Snapshot& after);

// The number after "name:" in a text such as /proc/PID/status; 0: none. Pure.
std::uint64_t status_number(std::string_view text, std::string_view name);

}  // namespace causalctl::compare
