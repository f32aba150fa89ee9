// How long quotas of CPU time hold a process back. Sources: Documentation/scheduler/sched-bwc.rst,
// admin-guide/cgroup-v2.rst.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl {

// Returns for how long a quota has kept threads from running, on all cores together, given a text
// of cpu.stat (throttled_usec; in version 1 throttled_time). Pure.
Nanoseconds parse_held_back(std::string_view cpu_stat);

// Returns the cores that the cgroup whose cpu.stat this is may use; nullopt if there is no quota.
std::optional<double> quota_beside(const std::string& cpu_stat);

struct HeldBack {
  Nanoseconds ns = 0;             // since the QuotaTime was made, on all cores together
  std::optional<double> cores{};  // that the quota grants; nullopt: not known
};

class QuotaTime {
 public:
  explicit QuotaTime(Pid pid) : pid_(pid), before_(read()) {}
  // Returns what the quota did that held the process back for longest. It may be that of any cgroup
  // above.
  HeldBack held_back() const;

 private:
  std::map<std::string, Nanoseconds> read() const;  // by cpu.stat

  Pid pid_;
  std::map<std::string, Nanoseconds> before_;
};

}  // namespace causalctl
