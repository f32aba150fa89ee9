// How long quotas of CPU time hold processes back. Sources: Documentation/scheduler/sched-bwc.rst,
// admin-guide/cgroup-v2.rst.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl {

// Returns for how long a quota has kept threads from running, on all cores together, given a text
// of cpu.stat (throttled_usec; in version 1 throttled_time). Pure.
Nanoseconds parse_held_back(std::string_view cpu_stat);

// Returns the cores that the cgroup whose cpu.stat this is may use; nullopt if there is no quota.
std::optional<double> quota_beside(const std::string& cpu_stat);

// Returns the files cpu.stat that count for all of some processes, given the text of
// /proc/PID/cgroup of each of them and our mountinfo. Pure.
std::set<std::string> common_cpu_stats(const std::set<std::string>& cgroups,
                                       std::string_view mountinfo);

struct HeldBack {
  Nanoseconds ns = 0;             // since the QuotaTime was made, on all cores together
  std::optional<double> cores{};  // that the quota grants; nullopt: not known
};

class QuotaTime {
 public:
  // Of several processes, what counts is the cgroups above all of them.
  explicit QuotaTime(std::vector<Pid> pids) : pids_(std::move(pids)), before_(read()) {}
  // Looks at these processes from now on.
  void follow(std::vector<Pid> pids) { pids_ = std::move(pids); }
  // Returns what the quota did that held the processes back for longest. It may be that of any
  // cgroup above.
  HeldBack held_back() const;

 private:
  std::map<std::string, Nanoseconds> read() const;  // by cpu.stat

  std::vector<Pid> pids_;
  std::map<std::string, Nanoseconds> before_;
};

}  // namespace causalctl
