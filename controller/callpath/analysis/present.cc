#include "controller/callpath/analysis/present.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/signal_state.h"
#include "controller/callpath/analysis/epoch_choice.h"
#include "controller/callpath/analysis/expansion.h"
#include "controller/callpath/analysis/group_rows.h"
#include "controller/callpath/analysis/interpreters.h"
#include "controller/callpath/analysis/present_time.h"
#include "controller/callpath/analysis/profile_tree.h"
#include "controller/callpath/analysis/scaled_counts.h"
#include "controller/callpath/analysis/tail_counts.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Chains;
using report::callpath::Column;
using report::callpath::Profile;

constexpr double kWaitsTold = 0.98;  // share of long waits with a path, below which it is told

struct Shown {
  Metric metric;
  const char* name;
  const char* unit;
  const char* title;
};
constexpr Shown kShown[] = {
    {Metric::cpu_ns, "cpu", "nanoseconds", "CPU time"},
    {Metric::samples, "samples", "samples", "Samples"},
    {Metric::blocked_ns, "blocked", "nanoseconds", "Time blocked"},
    {Metric::runnable_ns, "runnable", "nanoseconds", "Time waiting for a core"},
    {Metric::waits, "waits", "waits", "Waits"},
    {Metric::stopped_ns, "stopped", "nanoseconds", "Time stopped"},
    {Metric::frozen_ns, "frozen", "nanoseconds", "Time frozen"},
    {Metric::new_min, "new_min", report::callpath::kCalls, "Calls seen, at least"},
    {Metric::new_max, "new_max", report::callpath::kCalls, "Calls seen, at most"},
};

// Calls belong to the function that was called, not to what was inlined into it.
bool is_of_call(Metric metric) { return metric == Metric::new_min || metric == Metric::new_max; }

// Adds the columns: of each metric that was recorded, and of each event that was asked for. Returns
// their numbers by the metrics' names.
std::map<std::string_view, std::size_t> columns_of(std::span<const Recording> runs,
                                                   Profile& profile) {
  std::set<Metric> recorded;
  for (const Recording& run : runs) {
    for (const auto& [key, slice] : run.slices) recorded.insert(key.metric);
  }
  const bool any_event = std::any_of(runs.begin(), runs.end(),
                                     [](const Recording& run) { return !run.events.empty(); });
  if (recorded.empty() && !any_event) recorded = {Metric::samples};
  std::map<std::string_view, std::size_t> columns;
  for (const Shown& shown : kShown) {
    if (!recorded.contains(shown.metric)) continue;
    columns[name_of(shown.metric)] = profile.columns.size();
    profile.columns.push_back({shown.name, shown.unit, shown.title});
  }
  for (const Recording& run : runs) {
    for (const EventMetric& event : run.events) {
      if (!columns.emplace(event.name, profile.columns.size()).second) continue;
      profile.columns.push_back({event.name, event.unit, event.title, true});
    }
  }
  return columns;
}

void add_trees(std::span<const Recording> runs, const ChosenEpochs& epochs, bool by_process,
               Profile& profile) {
  const std::map<std::string_view, std::size_t> columns = columns_of(runs, profile);
  const GroupRows rows(runs, by_process);
  ProfileTree tree(profile.columns.size());
  Frames frames(profile);
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const Recording& run = runs[number];
    Expansion expansion(run, frames, tree);
    const ScaledCounts scaled = scaled_counts(run);
    for (const auto& [key, values] : run.slices) {
      if (!epochs.has(number, key.epoch)) continue;
      const auto counted = scaled.slices.find(key);
      const bool is_counted = counted != scaled.slices.end();
      const Slice& slice = is_counted ? counted->second : values;
      const std::uint32_t top = rows.top(run, key.group, frames, tree);
      const std::size_t column = columns.at(run.name_of_metric(key.metric));
      for (const auto& [node, value] : sorted(slice)) {
        const std::uint32_t at = is_counted               ? expansion.entry_by_jumps(node, top)
                                 : is_of_call(key.metric) ? expansion.entry(node, top)
                                                          : expansion.node(node, top);
        tree.add(at, column, value);
      }
    }
    for (const auto& [metric, calls] : scaled.unsampled) {
      if (!epochs.all() || calls == 0) continue;
      tree.add(tree.child(0, frames.of_words("[path not sampled]")),
               columns.at(run.name_of_metric(metric)), calls);
    }
  }
  tree.move_to(profile);
}

void add_wakers(std::span<const Recording> runs, bool by_process, Profile& profile) {
  const GroupRows rows(runs, by_process, groups_with_wakers);
  profile.columns = {{"blocked", "nanoseconds", "Time blocked, by who ended it"}};
  ProfileTree tree(profile.columns.size());
  Frames frames(profile);
  for (const Recording& run : runs) {
    Expansion expansion(run, frames, tree);
    for (const auto& [group, sums] : run.wakers) {
      const std::uint32_t top = rows.top(run, group, frames, tree);
      for (const auto& [pair, value] : sums) {
        const std::uint32_t wake = tree.child(expansion.node(pair.first, top),
                                              frames.of_words(report::callpath::kWokenBy));
        tree.add(expansion.inverted(pair.second, wake), 0, value);
      }
    }
  }
  tree.move_to(profile);
}

void add_notes(const Recording& run, const std::string& which, Profile& profile) {
  const auto note = [&](std::string text) { profile.notes.push_back(which + std::move(text)); };
  if (!run.ended) note("The log has no end: the run was killed, or goes on.");
  if (run.losses.records_lost > 0) {
    note(fmt::format("The kernel's rings were full; records lost: {}.", run.losses.records_lost));
  }
  if (run.losses.throttles > 0) {
    note(fmt::format("The kernel took no samples for a while, {} times (throttling).",
                     run.losses.throttles));
  }
  if (const LongWaits& waits = run.long_waits;
      static_cast<double>(waits.complete) < kWaitsTold * static_cast<double>(waits.count)) {
    note(fmt::format(
        "Of {} waits of 1 ms and more, {} have a complete path of their own; the others "
        "are divided like these.",
        waits.count, waits.complete));
  }
  if (run.throttled) note("A quota of CPU time stopped the program meanwhile.");
  if (run.death)
    note(fmt::format("The program was ended by {}.", name_of_signal(run.death->signal)));
  if (run.reason == EndReason::log_failed) note("The log could not be written to its end.");
  for (const std::string& warning : run.warnings) profile.warnings.push_back(which + warning);
}

Chains chains_of(std::span<const Recording> runs) {
  ChainTotals all;
  for (const Recording& run : runs) merge(all, run.chains);
  Chains chains;
  chains.complete = all.complete;
  chains.incomplete = all.incomplete;
  chains.searched = all.searched;
  const std::pair<const char*, std::uint64_t> reasons[] = {
      {"in code that no unwind table describes", all.no_table},
      {"where the copy of the stack ended", all.copy_short},
      {"at a return address that follows no call", all.no_call},
      {"after as many frames as are followed", all.too_deep},
      {"where the caller's frame could not be read", all.unreadable}};
  for (const auto& [text, count] : reasons) {
    if (count > 0) chains.reasons.push_back({text, count});
  }
  return chains;
}

// Returns whether two runs have no build of the executable in common. A run may have several: those
// of containers, or one whose file could not be read at first.
bool was_built_anew(std::span<const Recording> runs, const std::string& executable) {
  std::vector<std::set<std::string>> builds;  // by run, as far as they are known
  for (const Recording& run : runs) {
    std::set<std::string> of_run;
    for (const Module& module : run.modules) {
      if (module.path == executable && !module.build_id.empty()) of_run.insert(module.build_id);
    }
    if (!of_run.empty()) builds.push_back(std::move(of_run));
  }
  for (std::size_t i = 0; i < builds.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool have_common = std::any_of(builds[i].begin(), builds[i].end(),
                                           [&](const auto& id) { return builds[j].contains(id); });
      if (!have_common) return true;
    }
  }
  return false;
}

// Everything but the trees.
Profile begin_profile(std::span<const Recording> runs, const ChosenEpochs& epochs) {
  Profile profile;
  const Recording& first = runs.front();
  profile.program = first.executable;
  if (profile.program.empty()) profile.set = first.set;
  profile.host = first.host;
  profile.pid = first.pid;
  profile.runs = runs.size();
  profile.started_ns = first.started_ns;
  profile.chains = chains_of(runs);
  profile.tail_calls = count_tails(runs, epochs);
  profile.epochs = epochs.rows();
  profile.programs = programs_of(runs, epochs);
  profile.processes = 0;
  profile.counts = counts_of(runs);
  std::uint64_t samples = 0;
  double sampled_ns = 0;
  bool one_program = true;
  const Nanoseconds longest_ns = INT64_MAX / static_cast<Nanoseconds>(runs.size());
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const Recording& run = runs[number];
    if (run.host != first.host) profile.host.clear();
    one_program = one_program && run.executable == first.executable && run.set == first.set;
    profile.processes += processes_of(run);
    if (run.host != first.host || run.pid != first.pid || processes_of(run) > 1) profile.pid = 0;
    profile.started_ns = std::min(profile.started_ns, run.started_ns);
    profile.wall_ns += std::clamp<Nanoseconds>(
        epochs.all() ? run.wall_ns : epochs.length_ns(number), 0, longest_ns);
    samples += run.losses.samples_total;
    sampled_ns +=
        static_cast<double>(run.losses.samples_total) * static_cast<double>(run.period_ns);
    const std::string which = runs.size() > 1 ? words_of(run) + ": " : "";
    add_notes(run, which, profile);
    if (epochs.all()) add_time(run, number, which, profile);
  }
  if (!epochs.all()) {
    profile.notes.emplace_back(
        "Only some epochs are shown; chains, losses and numbers of calls are those of all.");
  }
  if (!one_program) profile.notes.emplace_back("The runs are of different programs.");
  if (was_built_anew(runs, first.executable)) {
    profile.notes.emplace_back(
        "The program was built anew between the runs: what has the same name counts together.");
  }
  profile.period_ns = samples > 0
                          ? static_cast<Nanoseconds>(sampled_ns / static_cast<double>(samples))
                          : first.period_ns;
  return profile;
}

}  // namespace

std::string_view column_of(const Recording& run, Metric metric) {
  const auto* shown = std::find_if(std::begin(kShown), std::end(kShown),
                                   [&](const Shown& each) { return each.metric == metric; });
  return shown != std::end(kShown) ? shown->name : run.name_of_metric(metric);
}

Profile present(std::span<const Recording> runs, const std::string& epoch, bool by_process) {
  INVARIANT(!runs.empty());
  const ChosenEpochs epochs(runs, epoch);
  Profile profile = begin_profile(runs, epochs);
  add_trees(runs, epochs, by_process, profile);
  std::vector<std::string> whose = words_of_interpreters(profile);
  profile.notes.insert(profile.notes.begin(), std::make_move_iterator(whose.begin()),
                       std::make_move_iterator(whose.end()));
  return profile;
}

Profile present_wakers(std::span<const Recording> runs, bool by_process) {
  if (std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run.wakers.empty(); })) {
    throw UsageError("--wakers: who ended waits was not recorded",
                     "record it by causalctl callpath --wakers");
  }
  Profile profile = begin_profile(runs, ChosenEpochs(runs, ""));
  add_wakers(runs, by_process, profile);
  return profile;
}

}  // namespace causalctl::callpath
