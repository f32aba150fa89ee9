#include "controller/base/json_fields.h"

#include <algorithm>
#include <cstdlib>

namespace causalctl::json_fields {

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

void convert(const Json& value, std::string_view key, std::vector<std::string>& out) {
  out.clear();
  for (const Json& text : value) convert(text, key, out.emplace_back());
}

void convert(const Json& value, std::string_view, std::map<std::string, std::string>& out) {
  if (!value.is_object()) return;
  for (const auto& [name, text] : value.items()) convert(text, name, out[name]);
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

void config_to_object(Json& line) {
  const auto config = line.find("config");
  if (config == line.end()) return;
  Json parsed = Json::parse(config->get<std::string>(), nullptr, false);
  if (!parsed.is_discarded()) *config = std::move(parsed);
}

void config_to_text(Json& line) {
  const auto config = line.find("config");
  if (config != line.end() && !config->is_string()) *config = config->dump();
}

void FieldReader::check_time(Nanoseconds time_ns, std::string_view key, unsigned flags) {
  if (!key.ends_with("_ns") || (flags & kDate) != 0) return;
  if (time_ns < -kLongest || time_ns > kLongest) {
    throw BadField{fmt::format("\"{}\" is longer than ten years", key)};
  }
  if ((flags & kMoment) != 0) return;
  sum_ns_ += std::abs(time_ns);
  if (sum_ns_ > kLongestSum) throw BadField{"the times add up to more than a century"};
}

}  // namespace causalctl::json_fields
