// Takes text apart that others wrote. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace causalctl {

// Returns the first word of a line, and takes it off the line with the blanks behind it.
inline std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(line.find_first_not_of(" \t", end), line.size()));
  return word;
}

}  // namespace causalctl
