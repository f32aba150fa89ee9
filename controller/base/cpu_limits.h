// What limits the CPU time of a process, besides other programs: quotas of cgroups, and RLIMIT_CPU.
// Sources: Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst, cgroups(7).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl {

struct CpuLimits {
  bool throttled = false;  // a quota has throttled it since the first poll
  // Of the periods since the poll before, the share in which the tightest quota was used up;
  // nullopt: there may be a quota that cannot be read.
  std::optional<double> used_up = 0;
  std::optional<double> granted{};  // by that quota: CPU time a second; nullopt: not known
  bool is_counted = false;          // a signal ends it after so much CPU time (RLIMIT_CPU)
};

// The files cpu.stat that count what a quota does to a process, of its cgroup and all above that
// are mounted, given its /proc/PID/cgroup and our mountinfo. Pure.
struct CpuStats {
  std::vector<std::string> files;
  bool complete = true;  // up to the root of each hierarchy, as far as its names tell
};
CpuStats cpu_stats(std::string_view cgroups, std::string_view mountinfo);

// How many periods of a quota there were in which the cgroup ran, and those in which it was used up
// (nr_periods and nr_throttled of cpu.stat); 0: there is no quota. Pure.
struct QuotaPeriods {
  std::uint64_t all = 0;
  std::uint64_t used_up = 0;
};
QuotaPeriods parse_quota_periods(std::string_view cpu_stat);

// CPU time a second that a quota grants, by cpu.max of cgroup version 2 ("50000 100000"); of
// version 1, by cpu.cfs_quota_us and cpu.cfs_period_us with a space between. nullopt: there is
// none. Pure.
std::optional<double> parse_quota(std::string_view quota_and_period);

class CpuLimitsOf {
 public:
  explicit CpuLimitsOf(Pid pid);
  CpuLimits poll();

 private:
  struct Counts {
    std::map<std::string, QuotaPeriods> by_file;  // cpu.stat
    bool all_seen = false;
  };
  Counts count() const;

  Pid pid_;
  bool first_namespace_;  // ours is that of the machine: nothing above the root
  Counts before_;
  bool throttled_ = false;
};

}  // namespace causalctl
