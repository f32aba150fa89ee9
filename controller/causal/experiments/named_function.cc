#include "controller/causal/experiments/named_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "controller/base/brackets.h"
#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/paths.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/causal/record/unit_names.h"
#include "controller/progress/naming.h"
#include "controller/progress/progress.h"
#include "controller/symbols/scope.h"
#include "unwind/names/names.h"

namespace causalctl::causal {
namespace {

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

// The place "memcached+0x1a2b0". A function without a name is called by where it begins.
std::optional<unwind::Place> place_named(const std::string& name, unwind::Symbolizer& symbolizer) {
  const auto spec = progress::offset_spec(name);
  return spec ? symbolizer.find_offset(spec->binary, spec->offset) : std::nullopt;
}

std::optional<NamedFunction> function_at(const std::string& name, const Question& question) {
  const auto place = place_named(name, question.symbolizer);
  if (!place || !is_in_scope(place->address, question)) return std::nullopt;
  auto unit = function_of(symbols::location_of(place->address, question.symbolizer));
  if (!unit) return std::nullopt;
  return NamedFunction{std::move(*unit), place->address};
}

// Returns the functions in scope that the user may mean: those whose whole name this is or, if
// there are none, those that have this name without parameters, template arguments or namespaces;
// or the one that is at this place.
std::vector<NamedFunction> functions(const Words& words, const Question& question) {
  std::vector<NamedFunction> found;
  for (const std::string& glob : question.scope.binaries) {
    for (const auto& place : question.symbolizer.find_function(words.function, glob)) {
      auto unit = function_of(symbols::location_of(place.address, question.symbolizer));
      if (!unit) continue;
      const bool known = std::any_of(found.begin(), found.end(), [&](const NamedFunction& other) {
        return identity_of(other.unit) == identity_of(*unit);
      });
      if (!known) found.push_back({std::move(*unit), place.address});
    }
  }
  const auto is_whole = [&](const NamedFunction& one) {
    return one.unit.function == words.function;
  };
  if (std::any_of(found.begin(), found.end(), is_whole))
    std::erase_if(found, std::not_fn(is_whole));
  if (found.empty()) {
    if (auto function = function_at(words.function, question)) found.push_back(*function);
  }
  return found;
}

bool is_in(const Unit& unit, const std::string& place) {
  return place.empty() || path_ends_with(unit.file, place) || path_matches(unit.module, place);
}

// Lists the candidates, each with a file or a binary that tells it from the others.
std::string list_of(const std::vector<NamedFunction>& candidates) {
  std::vector<Unit> units;
  for (const NamedFunction& one : candidates) units.push_back(one.unit);
  std::string list;
  for (const Unit& unit : units) {
    const auto also_of_another = [&](const std::string& name) {
      return meant(units, name).size() > 1;
    };
    list += "\n  " + progress::in_shell_quotes(free_name(unit, also_of_another));
  }
  return list;
}

// "--fixed work", "--fixed work < often: often".
std::string asked_text(const Question& question) {
  if (question.asked == question.name) return "--fixed " + question.asked;
  return fmt::format("--fixed {}: {}", question.asked, question.name);
}

}  // namespace

void refuse(const Question& question, std::string_view why, std::string hint) {
  throw UsageError(fmt::format("{}: {}", asked_text(question), why), std::move(hint));
}

std::string scope_text(const config::Scope& scope) {
  return fmt::format("--scope-binary {}", fmt::join(scope.binaries, ", "));
}

bool is_in_scope(Address address, const Question& question) {
  const auto module = question.symbolizer.module_at(address);
  return module && symbols::module_in_scope(*module, question.scope);
}

bool may_come(const Question& question) {
  const auto modules = question.symbolizer.modules();
  return std::any_of(
      question.scope.binaries.begin(), question.scope.binaries.end(), [&](const std::string& glob) {
        return std::none_of(modules.begin(), modules.end(), [&](const unwind::Module& module) {
          return symbols::module_matches(module, glob);
        });
      });
}

void refuse_unknown(const Question& question) {
  const Words words = words_of(question.name);
  const auto place = place_named(words.function, question.symbolizer);
  if (place && is_in_scope(place->address, question)) {
    refuse(question, "no function is known at this place", "causalctl points PID names functions");
  }
  if (place || !question.symbolizer.find_function(words.function, "").empty()) {
    refuse(question, "the function is not in scope, so it never gets a sample",
           "add its binary to " + scope_text(question.scope));
  }
  const auto similar =
      progress::in_shell_quotes(question.symbolizer.similar_functions(words.function, 5));
  refuse(question, "no such function in the target",
         similar.empty() ? "causalctl points PID tells where the time goes"
                         : fmt::format("the nearest are:\n    {}", fmt::join(similar, "\n    ")));
}

bool is_whole_name(const Question& question) {
  const auto all = functions({"", question.name}, question);
  return std::any_of(all.begin(), all.end(),
                     [&](const NamedFunction& one) { return one.unit.function == question.name; });
}

std::optional<NamedLine> named_line(const std::string& name) {
  const auto colon = name.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const auto number = parse_number<int>(std::string_view(name).substr(colon + 1));
  if (!number || *number < 1) return std::nullopt;
  return NamedLine{name.substr(0, colon), *number};
}

std::optional<NamedFunction> find_named(const Question& question) {
  Words words = words_of(question.name);
  std::vector<NamedFunction> all = functions(words, question);
  if (all.empty()) {  // an assembler's name may have any character
    const Words whole = {"", question.name};
    all = functions(whole, question);
    if (!all.empty()) words = whole;
  }
  if (all.empty()) return std::nullopt;
  std::vector<NamedFunction> meant = all;
  std::erase_if(meant, [&](const NamedFunction& one) { return !is_in(one.unit, words.place); });
  if (meant.empty()) refuse(question, "no such function in the target", "there is:" + list_of(all));
  if (meant.size() > 1) {
    throw UsageError(fmt::format("{} is ambiguous: different functions have this name{}",
                                 asked_text(question), list_of(meant)),
                     "name one of them");
  }
  NamedFunction& function = meant.front();
  function.has_namesake = std::count_if(all.begin(), all.end(), [&](const NamedFunction& other) {
                            return other.unit.function == function.unit.function;
                          }) > 1;
  return std::move(function);
}

}  // namespace causalctl::causal
