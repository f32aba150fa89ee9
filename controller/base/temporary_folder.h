// Where files are made that nobody keeps.
#pragma once

#include <cstdlib>
#include <string>

namespace causalctl {

// Returns TMPDIR, or /tmp where it is not set. It need not exist.
inline std::string temporary_folder() {
  const char* set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

}  // namespace causalctl
