// Reads the lists in the lines of a log, whose items are named by their numbers. Each function
// throws BadField where a line is not as the format says. Pure.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "controller/base/json_fields.h"

namespace causalctl::json_fields {

// Returns the list of a line.
inline const Json& list_of(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_array()) {
    throw BadField{fmt::format("\"{}\" is not a list", key)};
  }
  return *found;
}

// Checks an index of something of which there are `count`.
inline void check_index(std::size_t number, std::string_view what, std::size_t count) {
  if (number < count) return;
  throw BadField{fmt::format("there is no {} {}; {} were named before", what, number, count)};
}

// Returns a number that is such an index.
inline std::size_t index(const Json& value, std::string_view what, std::size_t count) {
  std::size_t number = 0;
  convert(value, what, number);
  check_index(number, what, count);
  return number;
}

template <class T>
T at(const Json& list, std::size_t i, std::string_view what) {
  T value{};
  convert(list[i], what, value);
  return value;
}

// Checks that what a line names follows what was named before it, of which there are `known`.
inline void check_first(const Json& line, std::size_t known, const char* key = "first") {
  std::size_t first = 0;
  get(line, key, first);
  if (first == known) return;
  throw BadField{fmt::format("\"{}\" is {}, but {} were named before", key, first, known)};
}

}  // namespace causalctl::json_fields
