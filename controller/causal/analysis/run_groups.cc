#include "controller/causal/analysis/run_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/printable_list.h"
#include "controller/causal/record/unit_names.h"

namespace causalctl::causal {
namespace {

using ConfigJson = nlohmann::json;

constexpr std::size_t kBuildDigits = 12;  // number of digits of a build-id that are shown
constexpr std::size_t kMostRunsListed = 4;
constexpr const char* kDefaultScope = "MAIN";

constexpr WarningKind<std::uint64_t, std::string> kGroups{
    "the logs have {} groups of runs, which differ in {}; they are not averaged"};
constexpr WarningKind<> kBuilds{
    "there are several builds of one program; causalctl ab compares builds"};
constexpr WarningKind<std::uint64_t, std::string> kNoBuildId{
    "{} runs of {} have no build-id; they are taken for one build because the path of the "
    "executable is the same"};

// Returns null if the member is absent, as in the log of another version or in a damaged one.
ConfigJson member(const ConfigJson& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : ConfigJson();
}

std::string text_of(const ConfigJson& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

std::string sorted_words(const ConfigJson& list) {
  std::set<std::string> words;
  if (list.is_array()) {
    for (const ConfigJson& word : list) words.insert(text_of(word));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// Returns the kind of the units that occur, because `auto` gives lines or functions as the target's
// debug information allows. Lines may have functions beside them, for code without line
// information.
std::string kind_of(const Run& run) {
  bool lines = false;
  bool any = false;
  const auto meet = [&](const Unit& unit) {
    lines = lines || unit.is_line;
    any = any || !unit.name.empty();
  };
  for (const UnitSamples& samples : run.samples) meet(samples.unit);
  for (const Experiment& experiment : run.experiments) meet(experiment.unit);
  return lines ? "line" : any ? "function" : "";
}

// Returns whether the run fits the group. One without units fits both kinds of unit.
bool fits(const Basis& group, const Basis& run) {
  const bool same_program = group.build_id == run.build_id &&
                            (!run.build_id.empty() || group.executable == run.executable);
  const bool same_kind = group.unit_kind == run.unit_kind || run.unit_kind.empty();
  const bool same_points =
      std::all_of(run.latency.begin(), run.latency.end(), [&](const auto& point) {
        const auto known = group.latency.find(point.first);
        return known == group.latency.end() || known->second == point.second;
      });
  return same_program && same_kind && same_points && group.binary_scope == run.binary_scope &&
         group.file_scope == run.file_scope && group.end_to_end == run.end_to_end;
}

std::string program_of(const Basis& basis) {
  if (!basis.started_as.empty()) return basis.started_as;
  return basis.executable.empty() ? "unknown program" : std::string(base_name(basis.executable));
}

std::string build_text(const Basis& basis) {
  return basis.build_id.empty() ? "no build-id, " + basis.executable
                                : "build " + basis.build_id.substr(0, kBuildDigits);
}

// Returns phrases, each of which can tell groups of one program name apart.
std::vector<std::string> traits_of(const Basis& basis) {
  std::vector<std::string> points;
  for (const auto& [name, meaning] : basis.latency) points.push_back(name + " " + meaning);
  return {build_text(basis), basis.unit_kind.empty() ? "no units" : "by " + basis.unit_kind,
          "scope " + basis.binary_scope +
              (basis.file_scope.empty() ? "" : " files " + basis.file_scope),
          basis.end_to_end ? "end to end" : "while running",
          points.empty() ? "no latency" : fmt::format("{}", fmt::join(points, ", "))};
}

void name_groups(std::vector<RunGroup>& groups) {
  for (RunGroup& group : groups) {
    const std::vector<std::string> traits = traits_of(group.basis);
    std::set<std::size_t> telling;
    for (const RunGroup& other : groups) {
      if (program_of(other.basis) != program_of(group.basis)) continue;
      const std::vector<std::string> others = traits_of(other.basis);
      for (std::size_t i = 0; i < traits.size(); ++i) {
        if (others[i] != traits[i]) telling.insert(i);
      }
    }
    group.name = program_of(group.basis);
    for (const std::size_t i : telling) group.name += ", " + traits[i];
  }
}

template <typename Trait>
bool differ(const std::vector<RunGroup>& groups, Trait trait) {
  return std::any_of(groups.begin(), groups.end(), [&](const RunGroup& group) {
    return std::invoke(trait, group.basis) != std::invoke(trait, groups.front().basis);
  });
}

// Returns whether some program occurs in two builds.
bool has_two_builds(const std::vector<RunGroup>& groups) {
  std::map<std::string, std::set<std::string>> builds;
  for (const RunGroup& group : groups) {
    builds[program_of(group.basis)].insert(build_text(group.basis));
  }
  return std::any_of(builds.begin(), builds.end(),
                     [](const auto& program) { return program.second.size() > 1; });
}

}  // namespace

Basis basis_of(const Run& run) {
  const ConfigJson config = ConfigJson::parse(run.config_json, nullptr, false);
  const ConfigJson scope = member(config, "scope");
  const ConfigJson progress = member(config, "progress");
  Basis basis;
  basis.executable = run.executable;
  basis.started_as = run.started_as;
  basis.build_id = run.build_id;
  basis.unit_kind = kind_of(run);
  basis.binary_scope = sorted_words(member(scope, "binary"));
  if (basis.binary_scope.empty()) basis.binary_scope = kDefaultScope;
  basis.file_scope = sorted_words(member(scope, "file"));
  const ConfigJson end_to_end = member(progress, "end_to_end");
  basis.end_to_end = end_to_end.is_boolean() && end_to_end.get<bool>();
  const ConfigJson latency = member(progress, "latency");
  if (latency.is_array()) {
    for (const ConfigJson& point : latency) {
      basis.latency[text_of(member(point, "name"))] = fmt::format(
          "from {} to {}", text_of(member(point, "begin")), text_of(member(point, "end")));
    }
  }
  return basis;
}

std::vector<RunGroup> group_runs(std::vector<Run> runs) {
  std::vector<RunGroup> groups;
  const auto put = [&](Run& run) {
    Basis basis = basis_of(run);
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const RunGroup& each) { return fits(each.basis, basis); });
    if (group == groups.end()) {
      groups.push_back({std::move(basis), "", {}});
      groups.back().runs.push_back(std::move(run));
    } else {
      group->basis.latency.merge(basis.latency);
      group->runs.push_back(std::move(run));
    }
  };
  const auto without = std::stable_partition(runs.begin(), runs.end(),
                                             [](const Run& run) { return !kind_of(run).empty(); });
  std::for_each(runs.begin(), without, put);
  std::for_each(without, runs.end(), put);
  for (RunGroup& group : groups) join_units(group.runs);
  name_groups(groups);
  return groups;
}

std::vector<Warning> remarks_on(const std::vector<RunGroup>& groups) {
  std::vector<Warning> remarks;
  if (groups.size() > 1) {
    std::vector<std::string> what;
    if (differ(groups, program_of)) what.emplace_back("program");
    if (has_two_builds(groups)) what.emplace_back("build");
    if (differ(groups, &Basis::unit_kind)) what.emplace_back("kind of unit");
    if (differ(groups, &Basis::binary_scope) || differ(groups, &Basis::file_scope)) {
      what.emplace_back("scope");
    }
    if (what.empty()) what.emplace_back("what their progress points are");
    remarks.emplace_back(kGroups, groups.size(), fmt::format("{}", fmt::join(what, ", ")));
  }
  if (has_two_builds(groups)) {
    remarks.emplace_back(kBuilds);
  }
  for (const RunGroup& group : groups) {
    if (!group.basis.build_id.empty() || group.runs.size() < 2) continue;
    remarks.emplace_back(kNoBuildId, group.runs.size(), program_of(group.basis));
  }
  return remarks;
}

std::string list_of(const std::vector<RunGroup>& groups) {
  std::string list;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<Run>& runs = groups[i].runs;
    std::vector<std::string> ids;
    for (const Run& run : runs) {
      if (ids.size() < kMostRunsListed) ids.push_back(run.id);
    }
    list += fmt::format("\n  {}  {}: {} run{} ({}{})", i + 1, printable(groups[i].name),
                        runs.size(), runs.size() == 1 ? "" : "s", printable_list(ids),
                        runs.size() > kMostRunsListed ? ", …" : "");
  }
  return list;
}

}  // namespace causalctl::causal
