// The fields of one line of an experiment log: JSON → values, checked. Pure.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::causal::log_fields {

using Json = nlohmann::ordered_json;

// Times of a log are lengths, and times since a start.
inline constexpr Nanoseconds kLongest = 10 * 366 * 24 * 3600 * kSecond;  // of one, either way
inline constexpr Nanoseconds kLongestSum = INT64_MAX / 2;  // 146 years, of a whole log

// How deep lists and objects nest in a line. The JSON library copies and prints by recursion: what
// is deeper than any line of ours could exhaust the stack.
std::size_t nesting(std::string_view line);

// A field of the wrong kind; turned into an Error with file and line where those are known.
struct BadField {
  std::string text;
};

void convert(const Json& value, std::string_view key, std::string& out);
void convert(const Json& value, std::string_view key, double& out);
void convert(const Json& value, std::string_view key, bool& out);

template <std::integral T>
void convert(const Json& value, std::string_view key, T& out) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<T>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
  if (!fits) throw BadField{fmt::format("\"{}\" is not a fitting whole number", key)};
  out = value.get<T>();
}

// Leaves `out` alone where the field is absent.
template <typename T>
void get(const Json& object, std::string_view key, T& out) {
  if (const auto found = object.find(std::string(key)); found != object.end()) {
    convert(*found, key, out);
  }
}

// The same for a time, which is at most kLongest.
void get_time(const Json& object, std::string_view key, Nanoseconds& out);

// The items of a list of objects; nothing where the field is absent.
std::vector<Json> items(const Json& object, const char* key);

const Json* object_field(const Json& object, const char* key);  // nullptr: absent, or no object

}  // namespace causalctl::causal::log_fields
