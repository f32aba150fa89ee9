#include "controller/causal/experiments/fixed_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/causal/experiments/fixed_path.h"
#include "controller/causal/experiments/named_function.h"
#include "controller/causal/record/unit_names.h"
#include "controller/progress/naming.h"
#include "controller/symbols/scope.h"

namespace causalctl::causal {
namespace {

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
    return is_in_scope(place.address, question);
  });
  if (!any_in_scope) {
    refuse(question, "its code is not in scope, so it never gets a sample",
           "add its binary to " + scope_text(question.scope));
  }
}

std::string check_function(const Question& question) {
  const auto function = find_named(question);
  if (!function) {
    if (may_come(question)) return "";
    refuse_unknown(question);
  }
  const auto unit =
      unit_of(symbols::location_of(function->address, question.symbolizer), question.scope);
  if (unit && unit->is_line) {
    refuse(question, "it is a function, but its code has line information, so lines are the units",
           fmt::format("add --unit function, or name a line; it begins at {}", unit->name));
  }
  return identity_of(function->unit);
}

}  // namespace

FixedUnit fixed_unit(const std::string& name, const config::Scope& scope,
                     unwind::Symbolizer& symbolizer) {
  if (name.empty()) return {};
  if (auto path = fixed_path(name, scope, symbolizer)) {
    std::string identity = identity_of(path->unit);
    return {std::move(identity), std::move(path)};
  }
  const Question question = {name, name, scope, symbolizer};
  const auto line = named_line(name);
  if (!line) return {check_function(question), {}};
  auto places = symbolizer.find_line(line->file, line->number);
  if (places.empty() && is_whole_name(question)) return {check_function(question), {}};
  check_line(std::move(places), line->file, line->number, question);
  return {};
}

}  // namespace causalctl::causal
