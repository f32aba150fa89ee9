// Parts of a path.
#pragma once

#include <string_view>

namespace causalctl {

// Returns the last component.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns the path without what the kernel adds to that of a file which was removed (d_path()).
inline std::string_view without_deleted(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

}  // namespace causalctl
