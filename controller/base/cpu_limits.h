// What limits the CPU time of a process, besides other programs: quotas of cgroups, and RLIMIT_CPU.
// Sources: Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst, cgroups(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl {

struct CpuLimits {
  bool throttled = false;   // a quota has throttled it since the first poll
  bool all_seen = true;     // no quota can throttle it without our knowing
  bool is_counted = false;  // a signal ends it after so much CPU time (RLIMIT_CPU)
};

// The files cpu.stat that count what a quota does to a process, of its cgroup and all above that
// are mounted, given its /proc/PID/cgroup and our mountinfo. Pure.
struct CpuStats {
  std::vector<std::string> files;
  bool complete = true;  // up to the root of each hierarchy, as far as its names tell
};
CpuStats cpu_stats(std::string_view cgroups, std::string_view mountinfo);

// The number after `nr_throttled`; 0: there is none, and so no quota. Pure.
std::uint64_t parse_throttled(std::string_view cpu_stat);

class CpuLimitsOf {
 public:
  explicit CpuLimitsOf(Pid pid);
  CpuLimits poll();

 private:
  struct Count {
    std::uint64_t throttled = 0;
    bool all_seen = false;
  };
  Count count() const;

  Pid pid_;
  bool first_namespace_;  // ours is that of the machine: nothing above the root
  std::uint64_t before_ = 0;
  bool throttled_ = false;
};

}  // namespace causalctl
