// Limits on the CPU time of a process, other than that other programs run: quotas of cgroups, and
// RLIMIT_CPU. Sources: Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst,
// cgroups(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl {

struct CpuLimits {
  bool throttled = false;   // a quota has throttled it since the first poll
  bool all_seen = true;     // false if a quota may throttle it that we cannot see
  bool is_counted = false;  // true if a signal ends it after a given CPU time (RLIMIT_CPU)
};

// The files cpu.stat in which the kernel counts what quotas do to a process: those of its cgroup
// and of all cgroups above it that are mounted. Pure: takes the texts of its /proc/PID/cgroup and
// of our mountinfo.
struct CpuStats {
  std::vector<std::string> files;
  bool complete = true;  // true if they reach the root of each hierarchy, as far as names tell
};
CpuStats cpu_stats(std::string_view cgroups, std::string_view mountinfo);

// Returns the number after `nr_throttled`, or 0 if there is none, and so no quota. Pure.
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
  bool first_namespace_;  // true if ours is the machine's: nothing lies above its root
  std::uint64_t before_ = 0;
  bool throttled_ = false;
};

}  // namespace causalctl
