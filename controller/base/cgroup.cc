#include "controller/base/cgroup.h"

#include <algorithm>
#include <sstream>

namespace causalctl {

bool is_in_list(std::string_view word, std::string_view list) {
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// A line is "hierarchy:controllers:path"; that of version 2 is "0::path".
CgroupPaths cgroup_paths(std::string_view text, std::string_view controller) {
  CgroupPaths paths;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      paths.version_2 = line.substr(second + 1);
    } else if (is_in_list(controller, controllers)) {
      paths.version_1 = line.substr(second + 1);
    }
  }
  return paths;
}

}  // namespace causalctl
