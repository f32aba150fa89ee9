#include "controller/commands/fixed_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "controller/base/error.h"
#include "controller/causal/resolver.h"
#include "controller/causal/unit_names.h"
#include "controller/progress/naming.h"

namespace causalctl::commands {
namespace {

using causal::Unit;

void check_line(const std::string& unit, const std::string& file, int line,
                unwind::Symbolizer& symbolizer) {
  auto places = symbolizer.find_line(file, line);
  const auto files = progress::files_meant(places, file);
  if (files.size() > 1) {
    throw UsageError(fmt::format("--fixed {} is ambiguous: several files have this name\n  {}:{}",
                                 unit, fmt::join(files, fmt::format(":{}\n  ", line)), line),
                     "name one of them");
  }
  if (!places.empty()) return;
  std::string nearest;
  for (const auto& each : symbolizer.similar_lines(file, line, 5)) nearest += "\n    " + each;
  throw UsageError("--fixed " + unit + ": no code for this line in the target",
                   nearest.empty() ? "" : "the nearest lines that have code are:" + nearest);
}

// "util.c:parse" → "parse", "ns::f" → "ns::f".
std::string without_place(const std::string& name) {
  for (std::size_t i = 0; i < name.size() && name[i] != '(' && name[i] != '<'; ++i) {
    if (name[i] != ':') continue;
    if (i + 1 == name.size() || name[i + 1] != ':') return name.substr(i + 1);
    ++i;
  }
  return name;
}

std::vector<Unit> functions(const std::string& name, const config::Scope& scope,
                            unwind::Symbolizer& symbolizer) {
  std::vector<Unit> found;
  for (const std::string& glob : scope.binaries) {
    for (const unwind::Place& place : symbolizer.find_function(name, glob)) {
      auto unit = causal::function_at(place.address, symbolizer);
      // Found by a shorter name, or a compiler's copy: units are called by the whole.
      if (!unit || unit->function != name) continue;
      const bool known = std::any_of(found.begin(), found.end(), [&](const Unit& other) {
        return causal::identity_of(other) == causal::identity_of(*unit);
      });
      if (!known) found.push_back(std::move(*unit));
    }
  }
  return found;
}

// With a file or a binary that tells each from the others.
std::string list_of(const std::vector<Unit>& units) {
  std::string list;
  for (const Unit& unit : units) {
    const auto also_of_another = [&](const std::string& name) {
      return causal::meant(units, name).size() > 1;
    };
    list += "\n  " + causal::free_name(unit, also_of_another);
  }
  return list;
}

void check_function(const std::string& name, const config::Scope& scope,
                    unwind::Symbolizer& symbolizer) {
  const std::vector<Unit> all = functions(without_place(name), scope, symbolizer);
  const std::vector<Unit> meant = causal::meant(all, name);
  if (meant.size() > 1) {
    throw UsageError(fmt::format("--fixed {} is ambiguous: different functions have this name{}",
                                 name, list_of(meant)),
                     "name one of them");
  }
  if (meant.empty() && !all.empty()) {
    throw UsageError(fmt::format("--fixed {}: no such function in the target", name),
                     "there is:" + list_of(all));
  }
}

}  // namespace

void check_fixed_unit(const std::string& unit, const config::Scope& scope,
                      unwind::Symbolizer& symbolizer) {
  if (unit.empty()) return;
  const auto colon = unit.rfind(':');
  const int line = colon == std::string::npos ? 0 : std::atoi(unit.c_str() + colon + 1);
  if (line > 0) {
    check_line(unit, unit.substr(0, colon), line, symbolizer);
  } else {
    check_function(unit, scope, symbolizer);
  }
}

}  // namespace causalctl::commands
