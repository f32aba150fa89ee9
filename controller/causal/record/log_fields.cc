#include "controller/causal/record/log_fields.h"

#include <algorithm>

namespace causalctl::causal::log_fields {

std::size_t nesting(std::string_view line) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

void convert(const Json& value, std::string_view key, std::string& out) {
  if (!value.is_string()) throw BadField{fmt::format("\"{}\" is not a string", key)};
  out = value.get<std::string>();
}

void convert(const Json& value, std::string_view key, double& out) {
  if (!value.is_number()) throw BadField{fmt::format("\"{}\" is not a number", key)};
  out = value.get<double>();
}

void convert(const Json& value, std::string_view key, bool& out) {
  if (!value.is_boolean()) throw BadField{fmt::format("\"{}\" is neither true nor false", key)};
  out = value.get<bool>();
}

void get_time(const Json& object, std::string_view key, Nanoseconds& out) {
  get(object, key, out);
  if (out < -kLongest || out > kLongest) {
    throw BadField{fmt::format("\"{}\" is longer than ten years", key)};
  }
}

std::vector<Json> items(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  const bool good = found->is_array() && std::all_of(found->begin(), found->end(),
                                                     [](const Json& i) { return i.is_object(); });
  if (!good) throw BadField{fmt::format("\"{}\" is not a list of objects", key)};
  return {found->begin(), found->end()};
}

const Json* object_field(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

}  // namespace causalctl::causal::log_fields
