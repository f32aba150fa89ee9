#include "controller/base/cpu_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "controller/base/cgroup.h"
#include "controller/base/procfs.h"
#include "controller/base/quota_time.h"

namespace causalctl {
namespace {

// PROC_CGROUP_INIT_INO of the kernel
constexpr std::string_view kFirstNamespace = "cgroup:[4026531835]";

struct Mount {
  std::string root, place, type, options;
};

// "36 35 98:0 /root /place options … - type source options"; see proc_pid_mountinfo(5).
std::optional<Mount> parse_mount(const std::string& line) {
  const auto separator = line.find(" - ");
  if (separator == std::string::npos) return std::nullopt;
  Mount mount;
  std::string skipped;
  std::istringstream front(line.substr(0, separator));
  front >> skipped >> skipped >> skipped >> mount.root >> mount.place;
  std::istringstream back(line.substr(separator + 3));
  back >> mount.type >> skipped >> mount.options;
  return back ? std::optional(mount) : std::nullopt;
}

}  // namespace

CpuStats cpu_stats(std::string_view cgroups, std::string_view mountinfo) {
  CpuStats stats;
  std::istringstream lines{std::string(mountinfo)};
  const CgroupPaths paths = cgroup_paths(cgroups, "cpu");
  unsigned hierarchies = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto mount = parse_mount(line);
    if (!mount) continue;
    const bool version_2 = mount->type == "cgroup2";
    if (!version_2 && !(mount->type == "cgroup" && is_in_list("cpu", mount->options))) continue;
    auto path = version_2 ? paths.version_2 : paths.version_1;
    if (!path) continue;
    ++hierarchies;
    if (path->starts_with("/..")) {  // the path lies outside of our namespace
      stats.complete = false;
      continue;
    }
    if (mount->root != "/") {
      stats.complete = false;
      if (!path->starts_with(mount->root)) continue;
      path = path->substr(mount->root.size());
    }
    for (;;) {
      while (path->ends_with('/')) path->pop_back();
      stats.files.push_back(mount->place + *path + "/cpu.stat");
      if (path->empty()) break;
      path->resize(path->rfind('/'));
    }
  }
  if (hierarchies == 0) stats.complete = false;
  return stats;
}

QuotaPeriods parse_quota_periods(std::string_view cpu_stat) {
  std::istringstream lines{std::string(cpu_stat)};
  QuotaPeriods periods;
  std::string name;
  for (std::uint64_t value = 0; lines >> name >> value;) {
    if (name == "nr_periods") periods.all = value;
    if (name == "nr_throttled") periods.used_up = value;
  }
  return periods;
}

std::optional<double> parse_quota(std::string_view quota_and_period) {
  std::istringstream words{std::string(quota_and_period)};
  double quota_us = 0;
  double period_us = 0;
  if (!(words >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return std::nullopt;
  return quota_us / period_us;
}

CpuLimitsOf::CpuLimitsOf(Pid pid) : pid_(pid) {
  std::array<char, 64> link{};
  const auto size = readlink("/proc/self/ns/cgroup", link.data(), link.size());
  first_namespace_ =
      size > 0 && std::string_view(link.data(), static_cast<std::size_t>(size)) == kFirstNamespace;
  before_ = count();
}

CpuLimitsOf::Counts CpuLimitsOf::count() const {
  const auto cgroups = procfs::read_text(fmt::format("/proc/{}/cgroup", pid_));
  const auto mountinfo = procfs::read_text("/proc/self/mountinfo");
  if (!cgroups || !mountinfo) return {};
  const CpuStats stats = cpu_stats(*cgroups, *mountinfo);
  Counts counts{.by_file = {}, .all_seen = stats.complete && first_namespace_};
  for (const std::string& file : stats.files) {
    if (const auto text = procfs::read_text(file)) {
      counts.by_file[file] = parse_quota_periods(*text);
    } else {
      counts.all_seen = false;
    }
  }
  return counts;
}

// A quota that has throttled the process once may do so again, the sooner the more CPU time pauses
// use.
CpuLimits CpuLimitsOf::poll() {
  const Counts now = count();
  CpuLimits limits;
  std::string tightest;
  for (const auto& [file, periods] : now.by_file) {
    const auto before = before_.by_file.find(file);
    if (before == before_.by_file.end() || periods.used_up <= before->second.used_up) continue;
    const double used_up =
        static_cast<double>(periods.used_up - before->second.used_up) /
        static_cast<double>(std::max<std::uint64_t>(periods.all - before->second.all, 1));
    if (used_up <= *limits.used_up) continue;
    limits.used_up = used_up;
    tightest = file;
  }
  if (!tightest.empty()) {
    throttled_ = true;
    limits.granted = quota_beside(tightest);
  } else if (!now.all_seen) {
    limits.used_up.reset();
  }
  limits.throttled = throttled_;
  before_ = now;
  rlimit limit{};
  limits.is_counted =
      prlimit(pid_, RLIMIT_CPU, nullptr, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
  return limits;
}

}  // namespace causalctl
