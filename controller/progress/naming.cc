#include "controller/progress/naming.h"

#include <algorithm>

namespace causalctl::progress {
namespace {

bool ends_in(const std::string& path, const std::string& suffix) {
  return path == suffix || path.ends_with('/' + suffix);
}

}  // namespace

std::vector<std::string> shortest_unique_suffixes(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) {
    const auto unique = [&](const std::string& suffix) {
      return std::none_of(paths.begin(), paths.end(), [&](const std::string& other) {
        return other != path && ends_in(other, suffix);
      });
    };
    std::string name = path;
    for (auto slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/', slash)) {
      const auto suffix = path.substr(slash + 1);
      if (!suffix.empty() && unique(suffix)) {
        name = suffix;
        break;
      }
      if (slash-- == 0) break;
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace causalctl::progress
