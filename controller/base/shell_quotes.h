// Quotes words for a shell. Pure.
#pragma once

#include <string>
#include <string_view>

namespace causalctl {

// Returns a text that a shell takes for this one word, whatever characters it has.
inline std::string in_single_quotes(std::string_view word) {
  std::string quoted = "'";
  for (const char each : word) {
    quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
  }
  return quoted + "'";
}

}  // namespace causalctl
