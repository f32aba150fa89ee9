#include "controller/inputs/analysis/present.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/inputs/analysis/fit.h"
#include "controller/inputs/analysis/forecast.h"
#include "controller/inputs/analysis/merged.h"
#include "controller/inputs/analysis/rank.h"
#include "controller/inputs/analysis/series.h"

namespace causalctl::inputs {
namespace {

namespace model = report::inputs;
using model::Of;

constexpr auto kTrms = static_cast<std::size_t>(Metric::trms);
constexpr auto kRms = static_cast<std::size_t>(Metric::rms);
using Units = std::array<std::uint64_t, kCostUnits>;

std::uint64_t outermost_sum(std::span<const SizeRow> rows, std::size_t unit) {
  std::uint64_t sum = 0;
  for (const SizeRow& row : rows) sum += row.outermost[unit];
  return sum;
}

std::uint64_t own_sum(std::span<const SizeRow> rows, std::size_t unit) {
  std::uint64_t sum = 0;
  for (const SizeRow& row : rows) sum += row.own[unit].sum;
  return sum;
}

// The input of all activations, in cells.
double input_of(std::span<const SizeRow> rows) {
  double cells = 0;
  for (const SizeRow& row : rows) {
    cells += static_cast<double>(row.size) * static_cast<double>(row.calls);
  }
  return cells;
}

double part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

// A run that was killed did not write what it executed; the outermost routines say it.
Units total_of(std::span<const Recording> runs, const std::vector<MergedRoutine>& routines) {
  Units total{};
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    for (const Recording& run : runs) total[unit] += run.total[unit];
    for (const MergedRoutine& routine : routines) {
      total[unit] = std::max(total[unit], outermost_sum(routine.rows[kTrms], unit));
    }
  }
  return total;
}

std::string name_of_routine(const MergedRoutine& merged) {
  if (!merged.routine.function.empty()) return merged.routine.function;
  return fmt::format("[{}+0x{:x}]", base_name(merged.module.path), merged.routine.offset);
}

// The other metric may see another trend (§3, Figures 4 to 6).
std::string disagreement_of(const model::Routine& routine, CostUnit unit) {
  const model::Growth& by_trms = routine.of(Metric::trms, unit, Of::mean);
  const model::Growth& by_rms = routine.of(Metric::rms, unit, Of::mean);
  const bool is_fast = by_trms.verdict == model::Verdict::superlinear;
  const bool other_is_fast = by_rms.verdict == model::Verdict::superlinear;
  if (is_fast == other_is_fast || !is_certain(by_trms.verdict) || !is_certain(by_rms.verdict)) {
    return {};
  }
  return fmt::format(
      "by rms it grows with {}, by trms with {}: rms leaves out the input that other threads and "
      "the kernel wrote during the call",
      by_rms.shape, by_trms.shape);
}

void set_input(const MergedRoutine& merged, model::Routine& routine) {
  const std::vector<SizeRow>& trms = merged.rows[kTrms];
  const std::vector<SizeRow>& rms = merged.rows[kRms];
  double external = 0;
  double thread = 0;
  for (const SizeRow& row : trms) {
    routine.calls += row.calls;
    external += static_cast<double>(row.external);
    thread += static_cast<double>(row.thread);
  }
  const double input = input_of(trms);
  routine.external_share = part_of(external, input);
  routine.thread_share = part_of(thread, input);
  routine.volume = input > 0 ? 1 - input_of(rms) / input : 0;
  const auto sizes = static_cast<double>(rms.size());
  routine.richness = part_of(static_cast<double>(trms.size()) - sizes, sizes);
}

std::vector<model::ThreadPart> threads_of(const MergedRoutine& merged) {
  std::vector<model::ThreadPart> parts;
  for (const ThreadRows& thread : merged.threads) {
    model::ThreadPart& part = parts.emplace_back();
    part.run = thread.run;
    part.number = thread.thread.number;
    part.name = thread.thread.name;
    for (const SizeRow& row : thread.rows[kTrms]) part.calls += row.calls;
    for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
      part.share[unit] = part_of(static_cast<double>(outermost_sum(thread.rows[kTrms], unit)),
                                 static_cast<double>(outermost_sum(merged.rows[kTrms], unit)));
    }
  }
  return parts;
}

// Fits each cost that is asked for. Of the ranking's metric and cost, `part` gets what the forecast
// needs.
void set_growth(const MergedRoutine& merged, const Choice& choice, model::Routine& routine,
                Part& part) {
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
      const auto cost = static_cast<CostUnit>(unit);
      if (cost != choice.cost && !choice.both_costs) continue;
      const std::vector<SizeRow>& rows = merged.rows[metric];
      for (std::size_t of = 0; of < model::kFits; ++of) {
        const Fit fit = fit_growth(series_of(rows, cost, static_cast<Of>(of)));
        routine.growth[metric][unit][of] = growth_of(fit);
        const bool ranks = static_cast<Metric>(metric) == choice.metric && cost == choice.cost;
        if (!ranks || !is_certain(fit.verdict)) continue;
        if (static_cast<Of>(of) == Of::mean) {
          part.is_certain = true;
          part.times = growth_times(rows, cost, false, fit);
        } else if (static_cast<Of>(of) == Of::own) {
          part.is_own_certain = true;
          part.own_times = growth_times(rows, cost, true, fit);
        }
      }
    }
  }
}

// Fills in all but the growth.
model::Routine routine_of(const MergedRoutine& merged, const Units& total) {
  model::Routine routine;
  routine.name = name_of_routine(merged);
  routine.module = merged.module.path;
  routine.build_id = merged.module.build_id;
  routine.offset = merged.routine.offset;
  routine.file = merged.routine.file;
  routine.line = merged.routine.line;
  routine.rows = merged.rows;
  set_input(merged, routine);
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    const auto all = static_cast<double>(total[unit]);
    routine.share[unit] =
        part_of(static_cast<double>(outermost_sum(merged.rows[kTrms], unit)), all);
    routine.own_share[unit] = part_of(static_cast<double>(own_sum(merged.rows[kTrms], unit)), all);
  }
  routine.threads = threads_of(merged);
  return routine;
}

void set_head(std::span<const Recording> runs, model::Profile& profile) {
  profile.command = fmt::format("{}", fmt::join(runs.back().command, " "));
  profile.host = runs.front().host;
  profile.runs = runs.size();
  profile.started_ns = runs.front().started_ns;
  profile.cell_bytes = runs.front().cell_bytes;
  profile.aprof_compatible = runs.front().aprof_compatible;
  std::uint64_t lost = 0;
  for (const Recording& run : runs) {
    if (run.host != profile.host) profile.host.clear();
    profile.started_ns = std::min(profile.started_ns, run.started_ns);
    if (!run.end) ++profile.incomplete;
    lost += run.events_lost;
  }
  if (profile.incomplete > 0) {
    profile.notes.push_back(fmt::format(
        "{} of {} runs did not write their end: what they executed last is missing, and shares are "
        "of what is known",
        profile.incomplete, profile.runs));
  }
  if (lost > 0) {
    profile.notes.push_back(fmt::format(
        "{} reads and writes are in no size, because memory had run out: sizes are too small",
        lost));
  }
}

}  // namespace

model::Profile present(std::span<const Recording> runs, const Choice& choice) {
  model::Profile profile;
  set_head(runs, profile);
  profile.metric = choice.metric;
  profile.cost = choice.cost;
  profile.has_both_costs = choice.both_costs;
  const std::vector<MergedRoutine> merged = merge_runs(runs);
  profile.total = total_of(runs, merged);
  const auto unit = static_cast<std::size_t>(choice.cost);
  std::vector<Part> parts;
  double by_trms = 0;
  double by_rms = 0;
  for (const MergedRoutine& each : merged) {
    model::Routine routine = routine_of(each, profile.total);
    Part part;
    part.name = routine.name;
    part.share = routine.share[unit];
    part.own_share = routine.own_share[unit];
    set_growth(each, choice, routine, part);
    routine.disagreement = disagreement_of(routine, choice.cost);
    parts.push_back(std::move(part));
    by_trms += input_of(each.rows[kTrms]);
    by_rms += input_of(each.rows[kRms]);
    profile.routines.push_back(std::move(routine));
  }
  profile.volume = by_trms > 0 ? 1 - by_rms / by_trms : 0;
  profile.forecast = forecast(parts);
  rank(profile);
  return profile;
}

}  // namespace causalctl::inputs
