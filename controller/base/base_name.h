// The last component of a path.
#pragma once

#include <string_view>

namespace causalctl {

inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace causalctl
