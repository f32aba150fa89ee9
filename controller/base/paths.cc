#include "controller/base/paths.h"

#include <fnmatch.h>

#include <filesystem>

namespace causalctl {

std::string normal_path(std::string_view path, std::string_view directory) {
  namespace fs = std::filesystem;
  // A relative compilation directory (-fdebug-prefix-map) is part of the path already.
  const bool joins = !path.starts_with('/') && directory.starts_with('/');
  const fs::path whole = joins ? fs::path(directory) / path : fs::path(path);
  return whole.lexically_normal().string();
}

bool path_ends_with(std::string_view path, std::string_view wanted) {
  while (wanted.starts_with("./")) wanted.remove_prefix(2);
  if (wanted.empty() || !path.ends_with(wanted)) return false;
  const auto before = path.size() - wanted.size();
  return before == 0 || wanted.front() == '/' || path[before - 1] == '/';
}

bool path_matches(const std::string& path, const std::string& glob) {
  return path_ends_with(path, glob) || ::fnmatch(glob.c_str(), path.c_str(), 0) == 0 ||
         ::fnmatch(("*/" + glob).c_str(), path.c_str(), 0) == 0;
}

}  // namespace causalctl
