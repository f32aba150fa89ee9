// Makes a report of experiments. For each progress point it compares every treatment with its
// baselines (estimate_compare.h), groups the results by unit, takes stalls out of the noise
// (estimate_noise.h), estimates effects (estimate_effect.h), corrects for phases, gives verdicts to
// all units together, and ranks them.
#include "controller/causal/analysis/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "controller/base/statistics.h"
#include "controller/base/trial.h"
#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/elsewhere.h"
#include "controller/causal/analysis/estimate_beside.h"
#include "controller/causal/analysis/estimate_effect.h"
#include "controller/causal/analysis/estimate_small_effects.h"
#include "controller/causal/analysis/estimate_totals.h"
#include "controller/causal/analysis/estimate_warnings.h"
#include "controller/causal/analysis/finding.h"
#include "controller/causal/analysis/pacing.h"
#include "controller/causal/analysis/unpaired.h"

namespace causalctl::causal {
namespace {

using report::ProgressResult;
using report::Report;
using report::UnitResult;
using report::Verdict;

// Where effects are scaled by the number of samples, that alone makes for this noise, of which
// nothing was seen yet.
constexpr Noise kBySamples{1, 0};

// Returns the pool with the largest certain effect, since a slope understates a unit that
// saturates.
std::optional<report::CurvePoint> best_of(const std::vector<report::CurvePoint>& pools,
                                          bool faster) {
  const auto certain = [faster](const report::CurvePoint& pool) {
    return faster ? pool.effect.low : -pool.effect.high;
  };
  const auto best = std::max_element(pools.begin(), pools.end(), [&](const auto& a, const auto& b) {
    return certain(a) < certain(b);
  });
  return best == pools.end() ? std::nullopt : std::optional(*best);
}

// Returns whether all intervals of the unit lie within ±bound.
bool within(const UnitResult& unit, double bound) {
  const auto inside = [bound](const Interval& one) {
    return one.low >= -bound && one.high <= bound;
  };
  return inside(*unit.slope) &&
         std::all_of(unit.summary.begin(), unit.summary.end(),
                     [&](const report::CurvePoint& pool) { return inside(pool.effect); });
}

// Returns whether an interval about zero means anything: the unit was sped up, or it never takes
// long.
bool can_have_no_effect(const UnitResult& unit) {
  return was_sped_up(unit.tested) || (unit.ceiling && *unit.ceiling <= kNoEffect);
}

// A verdict says no more than the run's own checks bear.
void judge(UnitResult& unit, const report::Bearing& bearing, double alpha) {
  if (!unit.slope) return;
  const double at_best = unit.best ? std::abs(unit.best->effect.value) : 0;
  const double size = std::max(std::abs(unit.slope->value), at_best);
  if (unit.p_value <= alpha && size >= kMeaningfulEffect) {
    if (!was_sped_up(unit.tested)) return;
    unit.within_null = !statement_of(unit, for_unit(bearing, unit));
    if (unit.within_null) return;
    unit.verdict = unit.slope->value > 0 ? Verdict::optimise : Verdict::contention;
  } else if (within(unit, kNoEffect) && can_have_no_effect(unit)) {
    unit.within_null = bearing.bound(0) > kNoEffect;
    if (!unit.within_null) unit.verdict = Verdict::no_effect;
  }
}

UnitResult result_of(const UnitTotals& totals, const CleanUnit& unit, const Point& point,
                     double alpha) {
  UnitResult result;
  result.unit = totals.unit.name;
  result.is_line = totals.unit.is_line;
  result.is_path = !totals.unit.path.empty();
  result.in_own_code = totals.in_own_code;
  result.in_callee = totals.in_callee;
  result.unknown_callers = totals.unknown_callers;
  result.module = totals.unit.module;
  result.function = totals.unit.function;
  result.file = totals.unit.file;
  result.line = totals.unit.line;
  result.samples = totals.samples > 0 ? totals.samples : totals.samples_in_all;
  result.runs = totals.runs;
  result.tested = totals.tested;
  const Factor factor = phase_factor(totals);
  result.phase_factor = factor.value;
  if (!point.latency) result.ceiling = ceiling_of(totals);
  if (const auto slope = slope_of(unit)) {
    result.p_value = p_value_of(*slope);
    const Estimate with_phase = scaled(*slope, factor);
    result.slope = interval_of(with_phase, alpha);
    result.slope_by_model =
        statistics::student_t_quantile(alpha / 2, with_phase.freedom) * with_phase.systematic;
    result.curve = curve_of(unit, point, alpha, factor);
    result.summary = summary_of(unit, point, alpha, factor);
    if (!result.summary.empty()) {
      const double each = alpha / static_cast<double>(result.summary.size());
      result.best = best_of(summary_of(unit, point, each, factor), slope->value > 0);
    }
  }
  return result;
}

// Returns the least size of a certain effect: that of its best pool or, if no pool is certain by
// itself, that of a small speedup by the slope.
double certain_effect(const UnitResult& unit) {
  const bool faster = unit.slope->value > 0;
  const auto least = [faster](const Interval& one) { return faster ? one.low : -one.high; };
  const double slope = kSmallSpeedup * least(*unit.slope);
  return unit.best ? std::max(slope, least(unit.best->effect)) : slope;
}

// Orders units by verdict (worth optimising, contention, no effect, not enough data). Within these
// it orders by the certain effect, by the width of the interval, or by the samples. What is
// everybody's caller comes last.
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
  if (a.everybodys_caller != b.everybodys_caller) return b.everybodys_caller;
  if (a.verdict != b.verdict) return order(a.verdict) < order(b.verdict);
  if (a.verdict == Verdict::optimise) return certain_effect(a) > certain_effect(b);
  if (a.verdict == Verdict::contention) return certain_effect(a) > certain_effect(b);
  if (a.verdict == Verdict::no_effect) {
    return a.slope->high - a.slope->low < b.slope->high - b.slope->low;
  }
  return a.samples > b.samples;
}

std::optional<double> mean_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(statistics::trimmed_mean(values));
}

// Describes what the target does without any speedup.
void describe(const std::vector<const Run*>& runs, const Point& point, ProgressResult& result) {
  double baseline_s = 0;
  std::uint64_t baseline_visits = 0;
  std::vector<double> p50_s, p99_s;
  double latency_s = 0;  // of all requests that ended; summed
  std::uint64_t ended = 0;
  for (const Run* run : runs) {
    const bool has_mean = !unpaired(*run, point);
    for (const Experiment& experiment : run->experiments) {
      if (!experiment.discarded.empty()) continue;
      const std::uint64_t visits = visits_of(experiment, point);
      result.visits += visits;
      if (experiment.speedup != 0) continue;
      baseline_visits += visits;
      // Real time is used, because virtual time leaves out what the visits themselves cost.
      baseline_s += static_cast<double>(experiment.wall_ns) / kSecond;
      if (!point.latency || !has_mean) continue;
      // By requests, so that rate × mean is the mean number in flight.
      if (const auto latency = period_s(experiment, point)) {
        latency_s += *latency * static_cast<double>(visits);
        ended += visits;
      }
      for (const LatencyCount& count : experiment.latency) {
        if (count.name != point.name) continue;
        if (count.p50_ns > 0) p50_s.push_back(static_cast<double>(count.p50_ns) / kSecond);
        if (count.p99_ns > 0) p99_s.push_back(static_cast<double>(count.p99_ns) / kSecond);
      }
    }
  }
  if (baseline_s > 0) result.rate_per_s = static_cast<double>(baseline_visits) / baseline_s;
  if (ended > 0) result.mean_latency_s = latency_s / static_cast<double>(ended);
  result.p50_latency_s = mean_of(p50_s);
  result.p99_latency_s = mean_of(p99_s);
}

// Gives verdicts to all units at once, because 2 of 40 units without effect look effective at 95 %.
void judge_all(std::vector<UnitResult>& units, const report::Bearing& bearing, double alpha) {
  std::vector<UnitResult*> measured;
  std::vector<double> p_values;
  for (UnitResult& unit : units) {
    if (!unit.p_value) continue;
    measured.push_back(&unit);
    p_values.push_back(*unit.p_value);
  }
  const std::vector<double> adjusted = statistics::holm(p_values);
  for (std::size_t i = 0; i < measured.size(); ++i) measured[i]->p_value = adjusted[i];
  for (UnitResult* unit : measured) judge(*unit, bearing, alpha);
}

void describe_counting(const std::vector<Run>& runs, ProgressResult& result) {
  for (const Run& run : runs) {
    for (const Counting& counting : run.counting) {
      if (counting.point != result.name) continue;
      result.counted_by = counting.by;
      result.visit_cost_ns = counting.visit_cost_ns;
      return;
    }
  }
}

// Returns the runs that counted this point. Other runs have other samples, and perhaps another
// load, so they say nothing about it.
std::vector<const Run*> runs_with(const std::vector<Run>& runs, const Point& point) {
  std::vector<const Run*> found;
  for (const Run& run : runs) {
    const bool counted =
        std::any_of(run.experiments.begin(), run.experiments.end(),
                    [&](const Experiment& experiment) { return was_counted(experiment, point); });
    if (counted) found.push_back(&run);
  }
  return found;
}

// Returns the null effect of one point. All points together fail by chance in at most `alpha` of
// the cases, because one that fails is enough to alarm the user.
std::optional<Interval> null_effect_of(const PointEffects& effects, std::size_t points,
                                       double alpha) {
  if (effects.nulls.size() < kFewestForSlope) return std::nullopt;
  const CleanUnit nulls = clean_nulls(effects.nulls);
  return effect_of(nulls.effects, nulls.noise, alpha / static_cast<double>(points));
}

// REQUIRES: the totals of `report` are summed.
ProgressResult estimate_point(const std::vector<Run>& runs, const Report& report,
                              const Point& point, const PointEffects& effects,
                              const std::optional<Interval>& null, double alpha) {
  const std::vector<const Run*> counted = runs_with(runs, point);
  const Totals totals = add_up(counted);
  ProgressResult result;
  result.name = point.name;
  result.latency = point.latency;
  result.runs = counted.size();
  result.null_effect = null;
  result.within = effects.within;
  result.bearing = bearing_of(counted, report, point, null);
  describe(counted, point, result);
  if (!point.latency) result.pacing = described_pacing(runs, point.name);

  describe_counting(runs, result);

  std::map<std::string, std::vector<Effect>> by_unit;
  for (const auto& [name, unit] : totals.units) by_unit[name];
  for (const Effect& effect : effects.treatments) {
    by_unit[effect.experiment->unit.name].push_back(effect);
  }
  std::vector<std::vector<Effect>> effects_of_units;
  for (const auto& [name, of_unit] : by_unit) effects_of_units.push_back(of_unit);
  std::vector<CleanUnit> cleaned = effects.within
                                       ? clean(effects_of_units, kBySamples, kUnlike)
                                       : clean(effects_of_units, baseline_noise(effects.nulls));
  if (effects.within) {
    for (CleanUnit& unit : cleaned) {
      unit.noise.variance = std::max(unit.noise.variance, kBySamples.variance);
    }
  }

  std::size_t next = 0;
  for (const auto& [name, unit] : totals.units) {
    const CleanUnit& of_unit = cleaned[next++];
    UnitResult one = result_of(unit, of_unit, point, alpha);
    if (totals.samples_total > 0) {
      one.sample_share =
          static_cast<double>(one.samples) / static_cast<double>(totals.samples_total);
      one.everybodys_caller = is_everybodys_caller(
          {unit.unit, one.samples, 0, unit.inherited, unit.by_one_call}, totals.samples_total);
    }
    if (!of_unit.effects.empty() || one.sample_share >= kWorthListing) {
      result.units.push_back(std::move(one));
    }
  }
  judge_all(result.units, result.bearing, alpha);
  std::stable_sort(result.units.begin(), result.units.end(), ranks_before);
  return result;
}

// Returns the points in the order of their first appearance, throughput before latency.
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
    add(experiment, report.selfcheck.tested);
    report.selfcheck.delay_asked_ns += experiment.asked_ns;
    report.selfcheck.delay_paid_ns += experiment.paid_ns;
  }
  Losses losses = run.losses;
  losses.samples_total = samples_of(run);
  losses.records_lost = std::max(losses.records_lost, lost);
  merge(report.losses, losses);
  merge(report.overhead, run.overhead);
  report.selfcheck.stopped_calls += run.stopped_calls;
  report.wall_ns += run.wall_ns;
  std::set<std::string> peers(report.peers.begin(), report.peers.end());
  peers.insert(run.peers.begin(), run.peers.end());
  report.peers.assign(peers.begin(), peers.end());
  for (const auto& [name, outcome] : run.facilities) {
    std::string& all = report.facilities.emplace(name, outcome).first->second;
    if (all == name_of(Outcome::seen)) all = outcome;
  }
  report.digest = std::max(report.digest, run.digest);
  if (report.executable.empty()) {
    report.executable = run.executable;
    report.started_as = run.started_as;
  }
  if (report.build_id.empty()) report.build_id = run.build_id;
  if (run.ended) report.reason = run.reason;
}

// Returns the time on a core, of which each sample stands for one period.
double sampled_ns(const Run& run) {
  return static_cast<double>(run.losses.samples_total) *
         static_cast<double>(run.overhead.period_ns);
}

// Adds the share of the time that threads want a core for which they wait for one. The waits come
// from the experiments, the running time from the runs' samples, each of which stands for one
// period.
void add_core_waits(const std::vector<Run>& runs, Report& report) {
  double waited = 0;
  double foreign = 0;
  double ran = 0;
  for (const Run& run : runs) {
    double experiments_ns = 0;
    for (const Experiment& experiment : run.experiments) {
      waited += static_cast<double>(experiment.runnable_wait_ns);
      foreign += static_cast<double>(experiment.foreign_wait_ns);
      experiments_ns += static_cast<double>(experiment.wall_ns);
    }
    const double baseline_ns = sampled_ns(run);
    // Without samples the running time is taken to be that of one thread that always runs.
    ran += baseline_ns > 0 && run.wall_ns > 0
               ? baseline_ns * experiments_ns / static_cast<double>(run.wall_ns)
               : experiments_ns;
  }
  if (waited <= 0) return;
  report.oversubscribed_share = waited / (waited + ran);
  report.foreign_share = foreign / (waited + ran);
}

// Adds how many cores the program used on average. Unknown if the period of a run is.
void add_cores_used(const std::vector<Run>& runs, Report& report) {
  double ran = 0;
  for (const Run& run : runs) {
    if (run.overhead.period_ns <= 0) return;
    ran += sampled_ns(run);
  }
  if (report.wall_ns > 0) report.cores_used = ran / static_cast<double>(report.wall_ns);
}

}  // namespace

Report estimate(const std::vector<Run>& runs, double alpha) {
  Report report;
  report.runs = runs.size();
  for (const Run& run : runs) sum_run(run, report);
  add_core_waits(runs, report);
  add_cores_used(runs, report);
  report.beside = told_of_strangers(runs);
  report.quota_share = quota_share_of(runs);

  const std::vector<Point> points = points_of(runs);
  for (const Point& point : points) {
    PointEffects effects = compare(runs, point);
    scale_noise(effects);
    const auto null = null_effect_of(effects, points.size(), alpha);
    report.progress.push_back(estimate_point(runs, report, point, effects, null, alpha));
    if (!report.selfcheck.null_effect) report.selfcheck.null_effect = null;
  }
  report.scope = in_scope(elsewhere_of(runs));
  report.finding = finding_of(report);
  add_warnings(runs, report);
  return report;
}

}  // namespace causalctl::causal
