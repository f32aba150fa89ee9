// Reads and writes the lines of logs, which are JSON objects whose first key is "type". That key
// comes first because a killed run can leave a line without its end, and the next line glued to it;
// by "type" a reader finds where that one begins. Pure, except for read_files().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/json_fields.h"
#include "controller/base/json_parser.h"
#include "controller/base/line_file.h"
#include "controller/base/warning.h"

namespace causalctl {

// Returns the line with its line feed. File names and symbols of the target need not be UTF-8;
// other bytes become U+FFFD.
std::string line_of(const json_fields::Json& object);

// Returns how deep lists and objects nest in a line. The JSON library copies and prints by
// recursion, so a line that nests deeper than any of ours could exhaust the stack.
std::size_t nesting(std::string_view line);

class JsonLines {
 public:
  // Takes each object with its text and type. It may throw BadField, or call refuse().
  using Take = std::function<void(json_fields::Json& object, std::string_view text,
                                  const std::string& type)>;

  JsonLines(LogKind kind, Take take) : kind_(kind), take_(std::move(take)) {}

  // Gives each line of `text`, which is that of the file `name`, to `take`. A line that is cut off
  // gives a warning. What is not a line of a log, or is a bad one, throws an Error with file and
  // line.
  void read(std::string_view text, const std::string& name);

  // Throws if a log of this version cannot be read.
  void check_version(const json_fields::Json& line, int newest) const;
  // Warns, once, that lines of this type are ignored.
  void ignore(const std::string& type);

  std::string where() const;  // "profile.jsonl:17"
  std::vector<Warning>& warnings() { return warnings_; }

 private:
  [[noreturn]] void refuse_line() const;
  std::optional<json_fields::Json> parse(std::string_view line, bool last);
  json_fields::Json parse_text(std::string_view text);  // throws if it nests too deep
  void read_line(std::string_view line, bool last);

  LogKind kind_;
  Take take_;
  JsonParser parser_;
  std::vector<Warning> warnings_;
  std::vector<std::string> ignored_types_;
  std::string name_;
  std::uint64_t line_ = 0;
};

// A log, and the name of its file.
struct LogText {
  std::string name;
  std::string text;
};

// Throws Error; `hint` is given if a file cannot be opened.
std::vector<LogText> read_files(const std::vector<std::string>& paths, const std::string& hint);

// Gives each log to one Reader, and returns what it has made of them.
template <class Reader>
auto read_each(const std::vector<LogText>& logs) {
  Reader reader;
  for (const LogText& log : logs) reader.read(log.text, log.name);
  return reader.take();
}

}  // namespace causalctl
