// Experiments → report. Per progress point: compare every treatment with its baselines
// (estimate_effect.h), group by unit, correct for phases, judge, rank.
#include "controller/causal/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "controller/causal/estimate_effect.h"
#include "controller/causal/estimate_warnings.h"
#include "controller/causal/statistics.h"

namespace causalctl::causal {
namespace {

using report::Interval;
using report::ProgressResult;
using report::Report;
using report::UnitResult;
using report::Verdict;

// What all runs together know of a unit.
struct UnitTotals {
  Unit unit;
  std::uint64_t samples = 0;         // over whole runs, where known
  std::uint64_t in_baselines = 0;    // s: during all baselines
  std::uint64_t observed = 0;        // s_obs: during this unit's own baselines
  Nanoseconds observed_ns = 0;       // t_obs
  std::uint64_t samples_in_all = 0;  // during any experiment of the unit, in cut-off runs, too
};

struct Totals {
  std::map<std::string, UnitTotals> units;
  Nanoseconds baseline_ns = 0;  // T: of all baselines, runs with an end only
};

// Lines of the log may leave out what they do not know.
void learn(Unit& known, const Unit& unit) {
  known.name = unit.name;
  known.is_line = unit.is_line;
  if (!unit.function.empty()) known.function = unit.function;
  if (!unit.file.empty()) known.file = unit.file;
  if (unit.line != 0) known.line = unit.line;
}

// A run without its end has neither its length nor its samples: it says nothing about phases.
Totals add_up(const std::vector<Run>& runs) {
  Totals totals;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) {
      if (!experiment.discarded.empty() || experiment.unit.name.empty()) continue;
      UnitTotals& unit = totals.units[experiment.unit.name];
      learn(unit.unit, experiment.unit);
      unit.samples_in_all += experiment.samples;
      if (!run.ended || experiment.speedup > 0) continue;
      unit.observed += experiment.samples;
      unit.observed_ns += experiment.effective_ns;
      totals.baseline_ns += experiment.effective_ns;
    }
    if (!run.ended) continue;
    for (const UnitSamples& samples : run.samples) {
      UnitTotals& unit = totals.units[samples.unit.name];
      learn(unit.unit, samples.unit);
      unit.samples += samples.count;
      unit.in_baselines += samples.baseline_count;
    }
  }
  return totals;
}

// Coz eq. 8: (t_obs / s_obs) · (s / T), the share of the run in which the unit is active at all.
// All four are taken from baselines: a treatment changes how many samples fall in a unit per
// effective time, which would look like a phase where there is none.
double phase_factor(const UnitTotals& unit, Nanoseconds baseline_ns) {
  if (unit.observed == 0 || unit.in_baselines == 0 || baseline_ns <= 0) return 1;
  const double active_ns = static_cast<double>(unit.observed_ns) /
                           static_cast<double>(unit.observed) *
                           static_cast<double>(unit.in_baselines);
  // The unit cannot be active for longer than the program ran; more is the noise of sampling.
  return std::min(1.0, active_ns / static_cast<double>(baseline_ns));
}

void multiply(Interval& interval, double factor) {
  interval = {interval.value * factor, interval.low * factor, interval.high * factor};
}

Verdict judge(const std::optional<Interval>& slope) {
  if (!slope) return Verdict::not_enough_data;
  const bool meaningful = std::abs(slope->value) >= kMeaningfulSlope;
  if (slope->low > 0 && meaningful) return Verdict::optimise;
  if (slope->high < 0 && meaningful) return Verdict::contention;
  const double half_width = (slope->high - slope->low) / 2;
  return half_width <= kNarrowSlope ? Verdict::no_effect : Verdict::not_enough_data;
}

UnitResult result_of(const UnitTotals& totals, Nanoseconds baseline_ns,
                     std::span<const Effect> effects, const Point& point) {
  UnitResult result;
  result.unit = totals.unit.name;
  result.is_line = totals.unit.is_line;
  result.function = totals.unit.function;
  result.file = totals.unit.file;
  result.line = totals.unit.line;
  result.samples = totals.samples > 0 ? totals.samples : totals.samples_in_all;
  result.phase_factor = phase_factor(totals, baseline_ns);
  result.slope = slope_of(effects);
  if (result.slope) {
    result.curve = curve_of(effects, result.slope->value, point);
    result.summary = summary_of(effects, point);
    multiply(*result.slope, result.phase_factor);
    for (report::CurvePoint& at : result.curve) multiply(at.effect, result.phase_factor);
    for (report::CurvePoint& at : result.summary) multiply(at.effect, result.phase_factor);
  }
  result.verdict = judge(result.slope);
  return result;
}

// Worth optimising first, by what is certain; then contention, no effect, unknown, each by how
// certain it is.
bool ranks_before(const UnitResult& a, const UnitResult& b) {
  static constexpr auto order = [](Verdict verdict) {
    switch (verdict) {
      case Verdict::optimise:
        return 0;
      case Verdict::contention:
        return 1;
      case Verdict::no_effect:
        return 2;
      case Verdict::not_enough_data:
        return 3;
    }
    return 4;
  };
  if (a.verdict != b.verdict) return order(a.verdict) < order(b.verdict);
  if (a.verdict == Verdict::optimise) return a.slope->low > b.slope->low;
  if (a.verdict == Verdict::contention) return a.slope->high < b.slope->high;
  if (a.verdict == Verdict::no_effect) {
    return a.slope->high - a.slope->low < b.slope->high - b.slope->low;
  }
  return a.samples > b.samples;
}

std::optional<double> mean_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(trimmed_mean(values));
}

// What the target does without any speedup.
void describe(const std::vector<Run>& runs, const Point& point, ProgressResult& result) {
  double baseline_s = 0;
  std::uint64_t baseline_visits = 0;
  std::vector<double> mean_s, p50_s, p99_s;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) {
      if (!experiment.discarded.empty()) continue;
      const std::uint64_t visits = visits_of(experiment, point);
      result.visits += visits;
      if (experiment.speedup != 0) continue;
      baseline_visits += visits;
      baseline_s += static_cast<double>(experiment.effective_ns) / kSecond;
      if (!point.latency) continue;
      if (const auto latency = period_s(experiment, point)) mean_s.push_back(*latency);
      for (const LatencyCount& count : experiment.latency) {
        if (count.name != point.name) continue;
        if (count.p50_ns > 0) p50_s.push_back(static_cast<double>(count.p50_ns) / kSecond);
        if (count.p99_ns > 0) p99_s.push_back(static_cast<double>(count.p99_ns) / kSecond);
      }
    }
  }
  if (baseline_s > 0) result.rate_per_s = static_cast<double>(baseline_visits) / baseline_s;
  result.mean_latency_s = mean_of(mean_s);
  result.p50_latency_s = mean_of(p50_s);
  result.p99_latency_s = mean_of(p99_s);
}

ProgressResult estimate_point(const std::vector<Run>& runs, const Totals& totals,
                              const Point& point, const PointEffects& effects,
                              std::uint64_t samples_total) {
  ProgressResult result;
  result.name = point.name;
  result.latency = point.latency;
  describe(runs, point, result);

  std::map<std::string, std::vector<Effect>> by_unit;
  for (const Effect& effect : effects.treatments) {
    by_unit[effect.experiment->unit.name].push_back(effect);
  }
  for (const auto& [name, unit] : totals.units) {
    const auto found = by_unit.find(name);
    const std::span<const Effect> of_unit =
        found == by_unit.end() ? std::span<const Effect>() : std::span(found->second);
    UnitResult one = result_of(unit, totals.baseline_ns, of_unit, point);
    if (samples_total > 0) {
      one.sample_share = static_cast<double>(one.samples) / static_cast<double>(samples_total);
    }
    if (!of_unit.empty() || one.sample_share >= kWorthListing) {
      result.units.push_back(std::move(one));
    }
  }
  std::stable_sort(result.units.begin(), result.units.end(), ranks_before);
  return result;
}

// In order of first appearance, throughput before latency.
std::vector<Point> points_of(const std::vector<Run>& runs) {
  std::vector<Point> throughput, latency;
  std::set<std::pair<bool, std::string>> seen;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) {
      for (const auto& count : experiment.throughput) {
        if (seen.emplace(false, count.name).second) throughput.push_back({count.name, false});
      }
      for (const auto& count : experiment.latency) {
        if (seen.emplace(true, count.name).second) latency.push_back({count.name, true});
      }
    }
  }
  throughput.insert(throughput.end(), latency.begin(), latency.end());
  return throughput;
}

void sum_run(const Run& run, Report& report) {
  std::uint64_t lost = 0;
  for (const Experiment& experiment : run.experiments) {
    ++report.experiments;
    lost += experiment.lost_records;
    if (!experiment.discarded.empty()) {
      ++report.experiments_discarded;
      continue;
    }
    report.selfcheck.delay_asked_ns += experiment.asked_ns;
    report.selfcheck.delay_paid_ns += experiment.paid_ns;
  }
  std::uint64_t attributed = 0;
  for (const UnitSamples& samples : run.samples) attributed += samples.count;
  report.samples_total += std::max(run.losses.samples_total, attributed);
  report.records_lost += std::max(run.losses.records_lost, lost);
  report.stacks_truncated += run.losses.stacks_truncated;
  report.samples_unknown += run.losses.samples_unknown;
  report.wall_ns += run.wall_ns;
  report.attach_stop_ns = std::max(report.attach_stop_ns, run.overhead.attach_stop_ns);
  report.sample_to_pause_p50_ns =
      std::max(report.sample_to_pause_p50_ns, run.overhead.sample_to_pause_p50_ns);
  report.sample_to_pause_p99_ns =
      std::max(report.sample_to_pause_p99_ns, run.overhead.sample_to_pause_p99_ns);
  report.period_ns = std::max(report.period_ns, run.overhead.period_ns);
  report.controller_cpu_share =
      std::max(report.controller_cpu_share, run.overhead.controller_cpu_share);
  if (run.overhead.slowdown) {
    report.slowdown =
        std::max(report.slowdown.value_or(*run.overhead.slowdown), *run.overhead.slowdown);
  }
  if (run.digest.starts_with("changed")) {
    report.digest = "changed";
  } else if (run.digest == "same" && report.digest == "unknown") {
    report.digest = "same";
  }
  if (report.executable.empty()) report.executable = run.executable;
  if (run.ended) report.reason = run.reason;
}

// Waiting for a core over wanting one, from the experiments' waits and the runs' samples, each of
// which stands for one period of running.
double oversubscribed_share(const std::vector<Run>& runs) {
  double waited = 0;
  double ran = 0;
  for (const Run& run : runs) {
    double experiments_ns = 0;
    for (const Experiment& experiment : run.experiments) {
      waited += static_cast<double>(experiment.runnable_wait_ns);
      experiments_ns += static_cast<double>(experiment.wall_ns);
    }
    const double baseline_ns =
        static_cast<double>(run.losses.samples_total) * static_cast<double>(run.overhead.period_ns);
    // Without them: as if one thread had always been running.
    ran += baseline_ns > 0 && run.wall_ns > 0
               ? baseline_ns * experiments_ns / static_cast<double>(run.wall_ns)
               : experiments_ns;
  }
  return waited > 0 ? waited / (waited + ran) : 0;
}

}  // namespace

Report estimate(const std::vector<Run>& runs) {
  Report report;
  report.runs = runs.size();
  for (const Run& run : runs) sum_run(run, report);
  report.oversubscribed_share = oversubscribed_share(runs);

  const Totals totals = add_up(runs);
  for (const Point& point : points_of(runs)) {
    const PointEffects effects = compare(runs, point);
    report.progress.push_back(estimate_point(runs, totals, point, effects, report.samples_total));
    if (!report.selfcheck.null_effect) report.selfcheck.null_effect = effect_of(effects.nulls);
  }
  add_warnings(runs, report);
  return report;
}

}  // namespace causalctl::causal
