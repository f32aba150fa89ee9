#include "controller/base/cpu_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "controller/base/cgroup.h"
#include "controller/base/procfs.h"

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

std::uint64_t parse_throttled(std::string_view cpu_stat) {
  std::istringstream lines{std::string(cpu_stat)};
  std::string name;
  for (std::uint64_t value = 0; lines >> name >> value;) {
    if (name == "nr_throttled") return value;
  }
  return 0;
}

CpuLimitsOf::CpuLimitsOf(Pid pid) : pid_(pid) {
  std::array<char, 64> link{};
  const auto size = readlink("/proc/self/ns/cgroup", link.data(), link.size());
  first_namespace_ =
      size > 0 && std::string_view(link.data(), static_cast<std::size_t>(size)) == kFirstNamespace;
  before_ = count().throttled;
}

CpuLimitsOf::Count CpuLimitsOf::count() const {
  const auto cgroups = procfs::read_text(fmt::format("/proc/{}/cgroup", pid_));
  const auto mountinfo = procfs::read_text("/proc/self/mountinfo");
  if (!cgroups || !mountinfo) return {};
  const CpuStats stats = cpu_stats(*cgroups, *mountinfo);
  Count count{.all_seen = stats.complete && first_namespace_};
  for (const std::string& file : stats.files) {
    if (const auto text = procfs::read_text(file)) {
      count.throttled += parse_throttled(*text);
    } else {
      count.all_seen = false;
    }
  }
  return count;
}

// A quota that has throttled the process once may do so again, the sooner the more CPU time pauses
// use.
CpuLimits CpuLimitsOf::poll() {
  const Count now = count();
  throttled_ = throttled_ || now.throttled != before_;
  CpuLimits limits{.throttled = throttled_, .all_seen = now.all_seen};
  rlimit limit{};
  limits.is_counted =
      prlimit(pid_, RLIMIT_CPU, nullptr, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
  return limits;
}

}  // namespace causalctl
