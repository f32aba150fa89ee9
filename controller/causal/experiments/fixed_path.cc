#include "controller/causal/experiments/fixed_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/causal/experiments/named_function.h"
#include "controller/causal/record/unit_names.h"
#include "controller/symbols/scope.h"

namespace causalctl::causal {
namespace {

constexpr const char* kForm =
    "a call path is 'CALLEE < CALLER', with blanks around '<', and quoted for the shell; ... "
    "stands "
    "for any calls between";

struct FoundStep {
  PathStep step;
  Unit unit;
};

FoundStep step_of(const NamedFunction& function, const Question& question, bool is_callee) {
  const Unit& unit = function.unit;
  const auto charged =
      unit_of(symbols::location_of(function.address, question.symbolizer), question.scope);
  if (is_callee && !charged) {
    refuse(question, "the function is not in scope, so it never gets a sample",
           "see --scope-file and --unit");
  }
  return {{unit.function, function.has_namesake ? unit.file : "", unit.module}, unit};
}

// Returns the function if it has no code of its own, but copies in others.
std::optional<FoundStep> inlined_step(const Question& question) {
  for (const unwind::Module& module : question.symbolizer.modules()) {
    if (!symbols::module_in_scope(module, question.scope)) continue;
    if (question.symbolizer.inlined_at(module.start, question.name, 1).empty()) continue;
    FoundStep found;
    found.step = {question.name, "", std::string(base_name(module.path))};
    found.step.only_inlined = true;
    found.unit.name = found.unit.function = question.name;
    found.unit.module = found.step.module;
    return found;
  }
  return std::nullopt;
}

FoundStep find_step(const Question& question, bool is_callee) {
  if (question.name.empty()) {
    throw UsageError(fmt::format("--fixed {}: a function is missing", question.asked), kForm);
  }
  if (named_line(question.name)) {
    refuse(question, "it is a line, but a call path is made of functions", kForm);
  }
  if (const auto function = find_named(question)) return step_of(*function, question, is_callee);
  if (auto inlined = inlined_step(question)) return std::move(*inlined);
  if (may_come(question)) {
    refuse(question, "no such function in what is loaded by now",
           "all functions of a call path must be there when causalctl attaches");
  }
  refuse_unknown(question);
}

}  // namespace

std::optional<CallPath> fixed_path(const std::string& name, const config::Scope& scope,
                                   unwind::Symbolizer& symbolizer) {
  const std::vector<WrittenStep> written = written_steps(name);
  if (written.empty()) return std::nullopt;
  if (written.size() > kMostSteps) {
    throw UsageError(
        fmt::format("--fixed {}: a call path has at most {} functions", name, kMostSteps));
  }
  CallPath path;
  std::vector<WrittenStep> identities;
  for (const WrittenStep& each : written) {
    FoundStep found = find_step({name, each.name, scope, symbolizer}, path.steps.empty());
    if (path.steps.empty()) path.unit = found.unit;
    identities.push_back({identity_of(found.unit), each.through});
    found.step.through = each.through;
    path.steps.push_back(std::move(found.step));
  }
  path.unit.name = text_of(written);
  path.unit.path = text_of(identities);
  return path;
}

}  // namespace causalctl::causal
