#include "controller/causal/experiments/fixed_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/brackets.h"
#include "controller/base/error.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/causal/record/unit_names.h"
#include "controller/progress/naming.h"
#include "controller/symbols/scope.h"
#include "unwind/names.h"

namespace causalctl::causal {
namespace {

// What the user asked for, and where it can be.
struct Question {
  const std::string& name;
  const config::Scope& scope;
  unwind::Symbolizer& symbolizer;
};

[[noreturn]] void refuse(const Question& question, std::string_view why, std::string hint) {
  throw UsageError(fmt::format("--fixed {}: {}", question.name, why), std::move(hint));
}

bool in_scope(Address address, const Question& question) {
  const auto module = question.symbolizer.module_at(address);
  return module && symbols::module_in_scope(*module, question.scope);
}

std::string scope_text(const config::Scope& scope) {
  return fmt::format("--scope-binary {}", fmt::join(scope.binaries, ", "));
}

// `places` are those of the line.
void check_line(std::vector<unwind::Place> places, const std::string& file, int line,
                const Question& question) {
  const auto files = progress::files_meant(places, file);
  if (files.size() > 1) {
    throw UsageError(
        fmt::format("--fixed {} is ambiguous: several files have this name\n  {}:{}", question.name,
                    fmt::join(files, fmt::format(":{}\n  ", line)), line),
        "name one of them");
  }
  if (places.empty()) {
    std::string nearest;
    for (const auto& each : question.symbolizer.similar_lines(file, line, 5)) {
      nearest += "\n    " + each;
    }
    refuse(question, "no code for this line in the target",
           nearest.empty() ? "" : "the nearest lines that have code are:" + nearest);
  }
  if (question.scope.unit == config::Unit::function) {
    refuse(question, "it is a line, but --unit function makes functions the units",
           "name a function, or leave out --unit");
  }
  const bool any_in_scope = std::any_of(places.begin(), places.end(), [&](const auto& place) {
    return in_scope(place.address, question);
  });
  if (!any_in_scope) {
    refuse(question, "its code is not in scope, so it never gets a sample",
           "add its binary to " + scope_text(question.scope));
  }
}

// A name in two parts: "util.c:parse" is {"util.c", "parse"}, "ns::f" is {"", "ns::f"}.
struct Words {
  std::string place;
  std::string function;
};

Words words_of(const std::string& name) {
  const auto colon = single_colon(name);
  if (colon != name.npos) return {name.substr(0, colon), name.substr(colon + 1)};
  return {"", name};
}

struct Candidate {
  Unit unit;
  Address address = 0;
};

// Returns the functions in scope that the user may mean: those whose whole name this is or, if
// there are none, those that have this name without parameters, template arguments or namespaces.
std::vector<Candidate> functions(const Words& words, const Question& question) {
  std::vector<Candidate> found;
  for (const std::string& glob : question.scope.binaries) {
    for (const auto& place : question.symbolizer.find_function(words.function, glob)) {
      auto unit = function_of(symbols::location_of(place.address, question.symbolizer));
      if (!unit) continue;
      const bool known = std::any_of(found.begin(), found.end(), [&](const Candidate& other) {
        return identity_of(other.unit) == identity_of(*unit);
      });
      if (!known) found.push_back({std::move(*unit), place.address});
    }
  }
  const auto is_whole = [&](const Candidate& one) { return one.unit.function == words.function; };
  if (std::any_of(found.begin(), found.end(), is_whole))
    std::erase_if(found, std::not_fn(is_whole));
  return found;
}

bool is_in(const Unit& unit, const std::string& place) {
  return place.empty() || unwind::path_ends_with(unit.file, place) ||
         unwind::path_matches(unit.module, place);
}

// Lists the candidates, each with a file or a binary that tells it from the others.
std::string list_of(const std::vector<Candidate>& candidates) {
  std::vector<Unit> units;
  for (const Candidate& one : candidates) units.push_back(one.unit);
  std::string list;
  for (const Unit& unit : units) {
    const auto also_of_another = [&](const std::string& name) {
      return meant(units, name).size() > 1;
    };
    list += "\n  " + progress::in_shell_quotes(free_name(unit, also_of_another));
  }
  return list;
}

// Returns whether a library of the scope that is not loaded yet may bring the function.
bool may_come(const Question& question) {
  const auto modules = question.symbolizer.modules();
  return std::any_of(
      question.scope.binaries.begin(), question.scope.binaries.end(), [&](const std::string& glob) {
        return std::none_of(modules.begin(), modules.end(), [&](const unwind::Module& module) {
          return symbols::module_matches(module, glob);
        });
      });
}

[[noreturn]] void refuse_unknown(const Words& words, const Question& question) {
  if (!question.symbolizer.find_function(words.function, "").empty()) {
    refuse(question, "the function is not in scope, so it never gets a sample",
           "add its binary to " + scope_text(question.scope));
  }
  const auto similar =
      progress::in_shell_quotes(question.symbolizer.similar_functions(words.function, 5));
  refuse(question, "no such function in the target",
         similar.empty() ? "causalctl points PID tells where the time goes"
                         : fmt::format("the nearest are:\n    {}", fmt::join(similar, "\n    ")));
}

// Returns whether a function in scope has this very name.
bool is_whole_name(const Question& question) {
  const auto all = functions({"", question.name}, question);
  return std::any_of(all.begin(), all.end(),
                     [&](const Candidate& one) { return one.unit.function == question.name; });
}

std::string check_function(const Question& question) {
  Words words = words_of(question.name);
  std::vector<Candidate> all = functions(words, question);
  if (all.empty()) {  // an assembler's name may have any character
    const Words whole = {"", question.name};
    all = functions(whole, question);
    if (!all.empty()) words = whole;
  }
  if (all.empty()) {
    if (may_come(question)) return "";
    refuse_unknown(words, question);
  }
  std::vector<Candidate> meant = all;
  std::erase_if(meant, [&](const Candidate& one) { return !is_in(one.unit, words.place); });
  if (meant.empty()) refuse(question, "no such function in the target", "there is:" + list_of(all));
  if (meant.size() > 1) {
    throw UsageError(fmt::format("--fixed {} is ambiguous: different functions have this name{}",
                                 question.name, list_of(meant)),
                     "name one of them");
  }
  const Candidate& function = meant.front();
  const auto unit =
      unit_of(symbols::location_of(function.address, question.symbolizer), question.scope);
  if (unit && unit->is_line) {
    refuse(question, "it is a function, but its code has line information, so lines are the units",
           fmt::format("add --unit function, or name a line; it begins at {}", unit->name));
  }
  return identity_of(function.unit);
}

}  // namespace

std::string fixed_unit(const std::string& name, const config::Scope& scope,
                       unwind::Symbolizer& symbolizer) {
  if (name.empty()) return "";
  const Question question = {name, scope, symbolizer};
  const auto colon = name.rfind(':');
  const int line = colon == std::string::npos ? 0 : std::atoi(name.c_str() + colon + 1);
  if (line <= 0) return check_function(question);
  const std::string file = name.substr(0, colon);
  auto places = symbolizer.find_line(file, line);
  if (places.empty() && is_whole_name(question)) return check_function(question);
  check_line(std::move(places), file, line, question);
  return "";
}

}  // namespace causalctl::causal
