#include "controller/commands/causal_profile.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/base/error.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/record/log.h"
#include "controller/commands/report.h"

namespace causalctl::commands {
namespace {

namespace model = report::callpath;

constexpr const char* kNoProfile = "give the log that causalctl attach or run wrote (--output)";

}  // namespace

config::Scope scope_of(const causal::Run& run) {
  config::Scope scope;
  const auto config = nlohmann::json::parse(run.config_json, nullptr, false);
  if (!config.is_object() || !config.contains("scope") || !config["scope"].is_object()) {
    return scope;
  }
  const auto words = [&](const char* key, std::vector<std::string>& list) {
    const auto found = config["scope"].find(key);
    if (found == config["scope"].end() || !found->is_array() || found->empty()) return;
    list.clear();
    for (const auto& each : *found) {
      if (each.is_string()) list.push_back(each.get<std::string>());
    }
  };
  words("binary", scope.binaries);
  words("file", scope.files);
  const auto unit = config["scope"].find("unit");
  if (unit != config["scope"].end() && unit->is_string()) {
    if (*unit == "function") scope.unit = config::Unit::function;
    if (*unit == "line") scope.unit = config::Unit::line;
  }
  return scope;
}

causal::RunGroup causal_group(const std::vector<LogText>& logs, const std::string& wanted) {
  if (!begins_as(causal::kLogKind, logs.front().text)) {
    throw UsageError(fmt::format("--causal {}: it is no experiment log", logs.front().name),
                     kNoProfile);
  }
  causal::ReadLog log = causal::parse_logs(logs);
  if (log.runs.empty()) {
    throw Error(fmt::format("--causal: there is no run in {}", logs.front().name), kNoProfile);
  }
  std::vector<causal::RunGroup> groups = causal::group_runs(std::move(log.runs));
  if (!wanted.empty()) {
    choose(groups, wanted);
  } else if (groups.size() > 1) {
    throw UsageError(fmt::format("--causal {}: it has {} groups of runs:{}", logs.front().name,
                                 groups.size(), causal::list_of(groups)),
                     "choose one with --group N");
  }
  return std::move(groups.front());
}

model::CausalProfile causal_profile(const causal::RunGroup& group, bool same_build) {
  const report::Report report = causal::estimate(group.runs);
  model::CausalProfile profile;
  profile.program = group.basis.executable;
  if (report.progress.empty()) return profile;
  const report::ProgressResult& progress = report.progress.front();
  profile.point = progress.name;
  if (report.progress.size() > 1) {
    profile.notes.push_back(
        fmt::format("The profile has {} progress points; the gains are those of {}.",
                    report.progress.size(), progress.name));
  }
  std::size_t call_paths = 0;
  for (const report::UnitResult& unit : progress.units) {
    // The slope of a function on one call path is not that of its other paths.
    if (unit.is_path) {
      ++call_paths;
      continue;
    }
    // What is on nearly all stacks has a slope that says nothing.
    const report::Verdict verdict =
        unit.everybodys_caller ? report::Verdict::not_enough_data : unit.verdict;
    profile.units.push_back({unit.unit, unit.is_line, unit.function, unit.file, unit.line,
                             unit.module, unit.slope, static_cast<model::UnitVerdict>(verdict),
                             unit.samples, unit.in_own_code});
  }
  if (call_paths > 0) {
    profile.notes.push_back(fmt::format(
        "{} of the profile's units {} a call path; gains are told of lines and functions.",
        call_paths, call_paths == 1 ? "is" : "are"));
  }
  if (!same_build) {
    profile.notes.emplace_back(
        "The causal profile is of another build; lines may have moved since.");
  }
  return profile;
}

}  // namespace causalctl::commands
