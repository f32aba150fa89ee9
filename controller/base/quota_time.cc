#include "controller/base/quota_time.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "controller/base/cpu_limits.h"
#include "controller/base/procfs.h"

namespace causalctl {

Nanoseconds parse_held_back(std::string_view cpu_stat) {
  std::istringstream lines{std::string(cpu_stat)};
  std::string name;
  for (Nanoseconds value = 0; lines >> name >> value;) {
    if (name == "throttled_time") return value;
    if (name == "throttled_usec") return value * kMicrosecond;
  }
  return 0;
}

std::optional<double> quota_beside(const std::string& cpu_stat) {
  const std::string folder = cpu_stat.substr(0, cpu_stat.rfind('/'));
  if (const auto text = procfs::read_text(folder + "/cpu.max")) return parse_quota(*text);
  const auto quota = procfs::read_text(folder + "/cpu.cfs_quota_us");
  const auto period = procfs::read_text(folder + "/cpu.cfs_period_us");
  return quota && period ? parse_quota(*quota + " " + *period) : std::nullopt;
}

std::set<std::string> common_cpu_stats(const std::set<std::string>& cgroups,
                                       std::string_view mountinfo) {
  std::set<std::string> common;
  for (const std::string& text : cgroups) {
    const auto stats = cpu_stats(text, mountinfo).files;
    const std::set<std::string> here(stats.begin(), stats.end());
    if (&text == &*cgroups.begin()) {
      common = here;
    } else {
      std::erase_if(common, [&](const std::string& file) { return !here.contains(file); });
    }
  }
  return common;
}

std::map<std::string, Nanoseconds> QuotaTime::read() const {
  std::map<std::string, Nanoseconds> times;
  std::set<std::string> cgroups;
  for (const Pid pid : pids_) {
    auto text = procfs::read_text(fmt::format("/proc/{}/cgroup", pid));
    if (text && !text->empty()) cgroups.insert(std::move(*text));
  }
  const auto mountinfo = procfs::read_text("/proc/self/mountinfo");
  if (!mountinfo) return times;
  for (const std::string& file : common_cpu_stats(cgroups, *mountinfo)) {
    if (const auto text = procfs::read_text(file)) times[file] = parse_held_back(*text);
  }
  return times;
}

HeldBack QuotaTime::held_back() const {
  HeldBack most;
  std::string tightest;
  for (const auto& [file, ns] : read()) {
    const auto before = before_.find(file);
    if (before == before_.end() || ns - before->second <= most.ns) continue;
    most.ns = ns - before->second;
    tightest = file;
  }
  if (!tightest.empty()) most.cores = quota_beside(tightest);
  return most;
}

}  // namespace causalctl
