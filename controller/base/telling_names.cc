#include "controller/base/telling_names.h"

#include <algorithm>

namespace causalctl {

std::vector<std::string> path_endings(const std::string& path) {
  std::vector<std::string> all;
  for (auto slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    all.push_back(path.substr(slash + 1));
  }
  if (path.starts_with('/')) all.push_back(path.substr(1));
  all.push_back(path);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, "");
  return all;
}

void TellingNames::add(const std::vector<std::string>& names) {
  for (const std::string& name : names) ++things_[name];
}

bool TellingNames::fits_one(const std::string& name) const {
  const auto known = things_.find(name);
  return known == things_.end() || known->second == 1;
}

std::string TellingNames::best_of(const std::vector<std::string>& names) const {
  const auto best = std::find_if(names.begin(), names.end(),
                                 [this](const std::string& name) { return fits_one(name); });
  return best == names.end() ? names.back() : *best;
}

ShortPaths::ShortPaths(const std::set<std::string>& paths) {
  TellingNames telling;
  for (const std::string& path : paths) telling.add(path_endings(path));
  for (const std::string& path : paths) {
    if (!path.empty()) names_[path] = telling.best_of(path_endings(path));
  }
}

}  // namespace causalctl
