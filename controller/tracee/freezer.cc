#include "controller/tracee/freezer.h"

#include <fmt/format.h>

#include <sstream>

#include "controller/base/cgroup.h"
#include "controller/base/procfs.h"

namespace causalctl::tracee {
bool is_frozen(Pid pid) {
  const auto own = procfs::read_text(fmt::format("/proc/{}/cgroup", pid));
  const auto mounts = procfs::read_text("/proc/self/mounts");
  if (!own || !mounts) return false;
  const CgroupPaths paths = cgroup_paths(*own, "freezer");
  std::istringstream lines{*mounts};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string source;
    std::string place;
    std::string type;
    std::string options;
    words >> source >> place >> type >> options;
    if (type == "cgroup2" && paths.version_2) {
      const auto events = procfs::read_text(place + *paths.version_2 + "/cgroup.events");
      if (events && events->find("frozen 1") != std::string::npos) return true;
    } else if (type == "cgroup" && paths.version_1 && is_in_list("freezer", options)) {
      const auto state = procfs::read_text(place + *paths.version_1 + "/freezer.state");
      if (state && !state->starts_with("THAWED")) return true;
    }
  }
  return false;
}

}  // namespace causalctl::tracee
