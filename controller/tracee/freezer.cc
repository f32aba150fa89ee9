#include "controller/tracee/freezer.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "controller/base/procfs.h"

namespace causalctl::tracee {
namespace {

bool has_word(std::string_view list, std::string_view word) {  // of a list with commas
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

// "hierarchy:controllers:path"; version 2 is "0::path".
FreezerPaths parse_freezer_paths(std::string_view text) {
  FreezerPaths paths;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      paths.version_2 = line.substr(second + 1);
    } else if (has_word(controllers, "freezer")) {
      paths.version_1 = line.substr(second + 1);
    }
  }
  return paths;
}

bool is_frozen(Pid pid) {
  const auto own = procfs::read_text(fmt::format("/proc/{}/cgroup", pid));
  const auto mounts = procfs::read_text("/proc/self/mounts");
  if (!own || !mounts) return false;
  const FreezerPaths paths = parse_freezer_paths(*own);
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
    } else if (type == "cgroup" && paths.version_1 && has_word(options, "freezer")) {
      const auto state = procfs::read_text(place + *paths.version_1 + "/freezer.state");
      if (state && !state->starts_with("THAWED")) return true;
    }
  }
  return false;
}

}  // namespace causalctl::tracee
