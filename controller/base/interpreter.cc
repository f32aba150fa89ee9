#include "controller/base/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controller/base/base_name.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"

namespace causalctl {
namespace {

constexpr int kPythonWithPerf = 12;  // of Python 3: the first with `-X perf`

struct Known {
  std::string_view name;  // the beginning of a file's name; a version or an end may follow
  const char* language;
  const char* advice;
  bool compiles;
  std::string_view marker = {};
};
constexpr const char* kNoNames = "The functions of the script cannot be named.";
constexpr const char* kNode = "node --perf-basic-prof names the functions of the script.";
constexpr std::array<Known, 9> kInterpreters = {{
    {"nodejs", "JavaScript", kNode, true, "v8::"},
    {"node", "JavaScript", kNode, true, "v8::"},
    {"libnode.so", "JavaScript", kNode, true},
    {"libjvm.so", "Java", "jcmd PID Compiler.perfmap (JDK 17) names the compiled methods.", true},
    {"libruby", "Ruby", kNoNames, false},
    {"ruby", "Ruby", kNoNames, false},
    {"php", "PHP", kNoNames, false},
    {"libphp", "PHP", kNoNames, false},
    {"perl", "Perl", kNoNames, false},
}};

// Whether all of it may follow the name of an interpreter: "3.1", "-fpm8.2", ".so.3.1", "".
bool is_end_of_name(std::string_view rest) {
  if (rest.starts_with("-fpm") || rest.starts_with("-cgi")) rest.remove_prefix(4);
  if (rest.starts_with("-")) rest.remove_prefix(1);
  if (const auto library = rest.find(".so"); library != rest.npos) {
    return is_end_of_name(rest.substr(0, library));
  }
  return std::all_of(rest.begin(), rest.end(),
                     [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

// "python3.11", "libpython3.12.so.1.0"
std::optional<Interpreter> python(std::string_view name) {
  if (name.starts_with("lib")) name.remove_prefix(3);
  if (!name.starts_with("python")) return std::nullopt;
  name.remove_prefix(std::string_view("python").size());
  const std::string_view version = name.substr(0, name.find(".so"));
  if (!is_end_of_name(name)) return std::nullopt;
  Interpreter found{version.empty() ? "Python" : fmt::format("Python {}", version),
                    "python3 -X perf, from 3.12 on, names the functions of the script.", true};
  const auto dot = version.find('.');
  if (version.starts_with("3.") && dot != version.npos) {
    const auto minor = parse_number<int>(version.substr(dot + 1));
    found.compiles = minor.value_or(kPythonWithPerf) >= kPythonWithPerf;
  }
  return found;
}

}  // namespace

std::optional<Interpreter> interpreter_of(std::string_view path) {
  const std::string_view name = base_name(without_deleted(path));
  if (auto found = python(name)) return found;
  for (const Known& known : kInterpreters) {
    if (name.starts_with(known.name) && is_end_of_name(name.substr(known.name.size()))) {
      return Interpreter{known.language, known.advice, known.compiles, known.marker};
    }
  }
  return std::nullopt;
}

InterpreterRemark::InterpreterRemark(std::string_view path)
    : name_(base_name(without_deleted(path))), found_(interpreter_of(path)) {}

void InterpreterRemark::see(std::string_view module, std::string_view function) {
  if (!found_) return;
  has_marker_ = has_marker_ || function.find(found_->marker) != function.npos;
  // Code in no file that has a name has it from a perf map.
  const bool is_in_no_file = module.starts_with("[anonymous") || module == "[jit]";
  has_names_ = has_names_ || (is_in_no_file && !function.empty() && !function.starts_with('['));
}

std::string InterpreterRemark::words() const {
  if (!found_ || (found_->compiles && has_names_)) return "";
  if (!found_->marker.empty() && !has_marker_) return "";
  return fmt::format("{} runs {}: functions here are its own, not those of the script. {}",
                     printable(name_), found_->language, found_->advice);
}

}  // namespace causalctl
