#include "controller/tracee/freezer.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "controller/base/cgroup.h"
#include "controller/base/procfs.h"

namespace causalctl::tracee {

std::vector<FreezerFile> freezer_files(Pid pid) {
  std::vector<FreezerFile> files;
  const auto own = procfs::read_text(fmt::format("/proc/{}/cgroup", pid));
  const auto mounts = procfs::read_text("/proc/self/mounts");
  if (!own || !mounts) return files;
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
      files.push_back({place + *paths.version_2 + "/cgroup.events", true});
    } else if (type == "cgroup" && paths.version_1 && is_in_list("freezer", options)) {
      files.push_back({place + *paths.version_1 + "/freezer.state", false});
    }
  }
  return files;
}

bool says_frozen(const FreezerFile& file) {
  const auto text = procfs::read_text(file.path);
  if (!text) return false;
  return file.is_version_2 ? text->find("frozen 1") != std::string::npos
                           : !text->starts_with("THAWED");
}

bool is_frozen(Pid pid) {
  const std::vector<FreezerFile> files = freezer_files(pid);
  return std::any_of(files.begin(), files.end(), says_frozen);
}

}  // namespace causalctl::tracee
