#include "controller/base/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/regular_file.h"

namespace causalctl {
namespace {

using json_fields::BadField;
using json_fields::Json;

constexpr std::size_t kDeepestNesting = 64;
constexpr std::string_view kLineBegin = "{\"type\":";

constexpr WarningKind<std::string> kCutOff{"{}: the line is cut off; it is ignored"};
constexpr WarningKind<std::string> kGlued{
    "{}: the line begins with one that was cut off; that part is ignored"};
constexpr WarningKind<std::string, std::string> kUnknownType{
    "{}: lines of type \"{}\" are not known to this version; they are ignored"};

constexpr const char* kDamaged = "the log was changed or damaged";

}  // namespace

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

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

std::string JsonLines::where() const { return fmt::format("{}:{}", name_, line_); }

void JsonLines::read(std::string_view text, const std::string& name) {
  name_ = name;
  line_ = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos;
    std::string_view line = text.substr(begin, last ? end : end - begin);
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) read_line(line, last);
    if (last) break;
    begin = end + 1;
  }
}

void JsonLines::refuse_line() const {
  throw Error(fmt::format("{}: not a line of {}", where(), kind_.name), std::string(kind_.hint));
}

Json JsonLines::parse_text(std::string_view text) {
  if (nesting(text) > kDeepestNesting) {
    throw Error(fmt::format("{}: lists nested more than {} deep", where(), kDeepestNesting),
                std::string(kind_.hint));
  }
  return parser_.parse(text);
}

// A line that a killed run left cut off may stand alone, or cat may have glued the next log's first
// line to it.
std::optional<Json> JsonLines::parse(std::string_view line, bool last) {
  Json json = parse_text(line);
  if (json.is_object()) return json;
  const bool ours = line.substr(0, kLineBegin.size()) == kLineBegin.substr(0, line.size());
  if (!ours && !(last && line.front() == '{')) {
    refuse_line();
  }
  const std::size_t glued = line.rfind(kLineBegin);
  if (glued != 0 && glued != std::string_view::npos) {
    json = parse_text(line.substr(glued));
    if (json.is_object()) {
      warnings_.emplace_back(kGlued, where());
      return json;
    }
  }
  warnings_.emplace_back(kCutOff, where());
  return std::nullopt;
}

void JsonLines::read_line(std::string_view line, bool last) {
  std::optional<Json> json = parse(line, last);
  if (!json) return;
  try {
    std::string type;
    json_fields::get(*json, "type", type);
    if (type.empty()) refuse_line();
    take_(*json, line, type);
  } catch (const BadField& fault) {
    throw Error(fmt::format("{}: {}", where(), fault.text), kDamaged);
  } catch (const Json::exception& fault) {
    throw Error(fmt::format("{}: {}", where(), fault.what()), kDamaged);
  }
}

void JsonLines::check_version(const Json& line, int newest) const {
  int version = 0;
  json_fields::get(line, "version", version);
  if (version <= newest) return;
  throw Error(fmt::format("{}: log version {} is newer than {}, which this program reads", where(),
                          version, newest),
              "use a newer causalctl to read it");
}

void JsonLines::ignore(const std::string& type) {
  if (std::find(ignored_types_.begin(), ignored_types_.end(), type) != ignored_types_.end()) return;
  ignored_types_.push_back(type);
  warnings_.emplace_back(kUnknownType, where(), type);
}

std::vector<LogText> read_files(const std::vector<std::string>& paths, const std::string& hint) {
  std::vector<LogText> texts;
  for (const std::string& path : paths)
    texts.push_back({path, read_input(path, kLargestRegularFile, hint)});
  return texts;
}

}  // namespace causalctl
