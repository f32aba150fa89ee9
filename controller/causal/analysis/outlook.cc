#include "controller/causal/analysis/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/estimate_warnings.h"

namespace causalctl::causal {
namespace {

constexpr double kOutlookSpeedup = 0.5;  // the speedup that the outlook is about

// Returns the unit with most samples at the first point that is visited.
const report::UnitResult* hottest(const report::Report& report) {
  const auto visited = std::find_if(report.progress.begin(), report.progress.end(),
                                    [](const auto& point) { return point.visits > 0; });
  if (visited == report.progress.end()) return nullptr;
  const report::UnitResult* found = nullptr;
  for (const report::UnitResult& unit : visited->units) {
    if (unit.everybodys_caller || !unit.slope) continue;
    if (found == nullptr || unit.samples > found->samples) found = &unit;
  }
  return found;
}

double half_width(const report::UnitResult& unit) {
  return kOutlookSpeedup * (unit.slope->high - unit.slope->low) / 2;
}

// Half widths of the interval of the hottest unit's effect. More experiments make only `by_chance`
// smaller.
struct Known {
  std::string unit;
  double by_chance = 0;
  double by_model = 0;

  // Returns half of the interval's width after a run that is `times` as long.
  double after(double times) const { return std::hypot(by_chance / std::sqrt(times), by_model); }
};

std::optional<Known> known_of(const report::Report& report, Run so_far) {
  const report::UnitResult* unit = hottest(report);
  if (unit == nullptr) return std::nullopt;
  for (Experiment& each : so_far.experiments) each.model_error_ns = 0;
  const report::Report without_model = estimate({so_far});
  const report::UnitResult* same = hottest(without_model);
  Known known{unit->unit, half_width(*unit), 0};
  if (same != nullptr && same->unit == unit->unit && half_width(*same) < known.by_chance) {
    known.by_model =
        std::sqrt(known.by_chance * known.by_chance - half_width(*same) * half_width(*same));
    known.by_chance = half_width(*same);
  }
  return known;
}

// Returns a rounded time, as "12 s" or "7 min".
std::string roughly(double time_ns) {
  const double seconds = time_ns / kSecond;
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

// Returns what the user can do to know more.
std::string advice(const Known& known, Nanoseconds passed_ns) {
  const double chance_left = kWellKnown * kWellKnown - known.by_model * known.by_model;
  std::string text =
      "profile at a quieter time, or give the target cores of its own (taskset, cpuset)";
  if (chance_left <= 0) return text + "; a longer profile does not help";
  const double times = known.by_chance * known.by_chance / chance_left;
  return text + fmt::format("; ±{:.0f} points take about {}", 100 * kWellKnown,
                            roughly(times * static_cast<double>(passed_ns)));
}

}  // namespace

std::optional<std::string> outlook_of(Run so_far, std::optional<Nanoseconds> length_ns) {
  so_far.ended = true;
  const Nanoseconds passed_ns = so_far.wall_ns;
  const report::Report report = estimate({so_far});
  if (report.foreign_share <= kBesideOthers || passed_ns <= 0) return std::nullopt;
  const std::string seen = fmt::format(
      "other programs (or a limit of CPU time) have the cores {:.0f} % of the time that the "
      "target's threads want to run",
      100 * report.foreign_share);
  const auto known = known_of(report, std::move(so_far));
  if (!known) {
    return fmt::format(
        "{}: after {} no effect can be told at all; profile at a quieter time, or "
        "give the target cores of its own (taskset, cpuset)",
        seen, roughly(static_cast<double>(passed_ns)));
  }
  const double times =
      length_ns ? static_cast<double>(*length_ns) / static_cast<double>(passed_ns) : 1;
  const double at_the_end = known->after(std::max(times, 1.0));
  if (at_the_end <= kWellKnown) return std::nullopt;
  return fmt::format(
      "{}: {} the effect of {} made {:.0f} % faster is known to ±{:.0f} points "
      "only; {}",
      seen, length_ns ? "when this run ends" : "by now", known->unit, 100 * kOutlookSpeedup,
      100 * at_the_end, advice(*known, passed_ns));
}

}  // namespace causalctl::causal
