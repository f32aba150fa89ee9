#include "controller/causal/analysis/bearing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace causalctl::causal {
namespace {

using report::Bearing;
using report::CurvePoint;
using report::Reason;
using report::Report;
using report::UnitResult;
using Kind = Reason::Kind;

constexpr double kFailedFrom = 0.01;  // a smaller difference of baselines does not matter
constexpr double kMostDiscarded = 0.5;

// Returns how often the places of a point were passed: both of a latency.
std::uint64_t passed(const Experiment& experiment, const Point& point) {
  std::uint64_t begins = 0;
  for (const LatencyCount& count : experiment.latency) {
    if (point.latency && count.name == point.name) begins += count.begins;
  }
  return begins + visits_of(experiment, point);
}

// Returns the share of the target's CPU time that its visits of the point take.
double counting_share(const std::vector<const Run*>& runs, const Point& point) {
  double taken_ns = 0;
  double cpu_ns = 0;
  for (const Run* run : runs) {
    const auto counting = std::find_if(run->counting.begin(), run->counting.end(),
                                       [&](const auto& each) { return each.point == point.name; });
    if (counting == run->counting.end()) continue;
    const auto each_ns = static_cast<double>(counting->visit_cost_ns);
    for (const Experiment& experiment : run->experiments) {
      taken_ns += each_ns * static_cast<double>(passed(experiment, point));
      cpu_ns += static_cast<double>(experiment.cores.cpu_ns);
    }
  }
  return cpu_ns > 0 ? std::min(1.0, taken_ns / cpu_ns) : 0;
}

// Returns by which part of the runs the delay that was paid differs from that asked for. Virtual
// time is as much too long or too short.
double unpaid_share(const Report& report) {
  if (report.wall_ns <= 0) return 0;
  const auto difference = report.selfcheck.delay_asked_ns - report.selfcheck.delay_paid_ns;
  return std::abs(static_cast<double>(difference)) / static_cast<double>(report.wall_ns);
}

// Returns in how many runs the point was found to come at its own pace, and in how many to wait for
// the program.
std::pair<std::uint64_t, std::uint64_t> paces(const std::vector<const Run*>& runs,
                                              const Point& point) {
  std::uint64_t own = 0;
  std::uint64_t others = 0;
  for (const Run* run : runs) {
    const Pacing* pacing = find_pacing(*run, point.name);
    if (pacing == nullptr) continue;
    const Pace pace = pace_of(*pacing);
    own += pace == Pace::own ? 1 : 0;
    others += pace == Pace::of_program ? 1 : 0;
  }
  return {own, others};
}

// Returns whether the curve is straight. If it is not, as for a unit that saturates, the slope
// through the origin is true of no speedup, however certain it is.
bool is_straight(const UnitResult& unit) {
  return std::all_of(unit.summary.begin(), unit.summary.end(), [&](const CurvePoint& pool) {
    return unit.slope->low * pool.speedup <= pool.effect.high &&
           unit.slope->high * pool.speedup >= pool.effect.low;
  });
}

// Returns the most that the unit can give at that speedup.
double allowed(const UnitResult& unit, double speedup) {
  return unit.ceiling.value_or(1) * speedup;
}

}  // namespace

double null_bound(const std::optional<Interval>& null) {
  return null ? std::max(std::abs(null->low), std::abs(null->high)) : 0;
}

Bearing bearing_of(const std::vector<const Run*>& runs, const Report& report, const Point& point,
                   const std::optional<Interval>& null) {
  Bearing bearing;
  if (null) {
    bearing.bounds.push_back({Kind::self_check, point.name, null_bound(null), 0, null});
    if (excludes_zero(*null) && std::abs(null->value) > kFailedFrom) {
      bearing.failed.push_back({Kind::self_check_failed, point.name, null_bound(null), 0, null});
    }
  } else {
    bearing.bounds.push_back({Kind::no_self_check, point.name, 1});
  }
  // What sampling and counting cost may be charged to the unit, and end with its time.
  const Overhead& cost = report.overhead;
  if (cost.slowdown && cost.slowdown_low && cost.slowdown_high && *cost.slowdown_high > 0) {
    Reason sampling{Kind::sampling_cost, "", 0, std::min(*cost.slowdown_high, 1.0),
                    Interval{*cost.slowdown, *cost.slowdown_low, *cost.slowdown_high}};
    sampling.by_samples = std::clamp(cost.slowdown_by_samples, 0.0, sampling.per_speedup);
    bearing.bounds.push_back(sampling);
  }
  if (const double share = counting_share(runs, point); share > 0) {
    Reason counting{Kind::counting_cost, point.name, 0, share};
    counting.share = share;
    bearing.bounds.push_back(counting);
    counting.kind = Kind::counting_slows;
    const double low = cost.slowdown_low.value_or(0);
    const bool together = low < kSlows && share + std::max(low, 0.0) >= kSlows;
    if (share >= kSlows || together) bearing.failed.push_back(counting);
  }
  if (const double share = unpaid_share(report); share > 0) {
    bearing.bounds.push_back({Kind::unpaid_delay, "", share});
  }
  if (const auto [own, others] = paces(runs, point); !point.latency && own > 0 && others > 0) {
    bearing.failed.push_back({Kind::loads_differ, point.name, 0, 0, {}, 0, own, others});
  }
  return bearing;
}

Bearing for_unit(Bearing bearing, const UnitResult& unit) {
  const double threads = unit.ceiling.value_or(1);
  for (Reason& each : bearing.bounds) each.per_speedup -= (1 - threads) * each.by_samples;
  return bearing;
}

const UnitResult* first_denied(const report::ProgressResult& point) {
  const auto denied =
      std::find_if(point.units.begin(), point.units.end(), [](const UnitResult& unit) {
        return unit.within_null && !unit.everybodys_caller && excludes_zero(*unit.slope);
      });
  return denied == point.units.end() ? nullptr : &*denied;
}

Bearing bearing_told(const report::ProgressResult& point) {
  const UnitResult* denied = first_denied(point);
  return denied == nullptr ? point.bearing : for_unit(point.bearing, *denied);
}

std::vector<Reason> failed_checks(const Report& report) {
  std::vector<Reason> failed;
  if (report.digest == DigestResult::changed) failed.push_back({Kind::target_changed});
  if (static_cast<double>(report.experiments_discarded) >
      kMostDiscarded * static_cast<double>(report.experiments)) {
    failed.push_back(
        {Kind::many_discarded, "", 0, 0, {}, 0, report.experiments_discarded, report.experiments});
  }
  const Overhead& cost = report.overhead;
  if (cost.slowdown && cost.slowdown_high && cost.slowdown_low.value_or(0) >= kSlows) {
    failed.push_back({Kind::sampling_slows, "", 0, 0,
                      Interval{*cost.slowdown, *cost.slowdown_low, *cost.slowdown_high}});
  }
  return failed;
}

std::vector<Reason> by_weight(std::vector<Reason> bounds, double speedup) {
  const auto weight = [speedup](const Reason& one) {
    return std::max(one.effect, one.per_speedup * speedup);
  };
  std::stable_sort(bounds.begin(), bounds.end(),
                   [&](const Reason& a, const Reason& b) { return weight(a) > weight(b); });
  return bounds;
}

std::optional<Statement> statement_of(const UnitResult& unit, const Bearing& bearing) {
  const Interval& slope = *unit.slope;
  std::vector<Statement> all;
  if (is_straight(unit)) {
    all.push_back(
        {kSmallSpeedup,
         {kSmallSpeedup * slope.value, kSmallSpeedup * slope.low, kSmallSpeedup * slope.high}});
  }
  for (const CurvePoint& pool : unit.summary) all.push_back({pool.speedup, pool.effect});
  std::erase_if(all, [&](const Statement& one) {
    const double bound = bearing.bound(one.speedup);
    const bool beyond = slope.value > 0 ? one.effect.low > bound : one.effect.high < -bound;
    return !beyond || one.effect.low > allowed(unit, one.speedup);
  });
  // An effect that is more than possible is known less well than its interval says.
  const auto possible = [&](const Statement& one) {
    return one.effect.value <= allowed(unit, one.speedup);
  };
  if (std::any_of(all.begin(), all.end(), possible)) {
    std::erase_if(all, [&](const Statement& one) { return !possible(one); });
  }
  if (all.empty()) return std::nullopt;
  Statement first = *std::min_element(
      all.begin(), all.end(),
      [](const Statement& a, const Statement& b) { return a.speedup < b.speedup; });
  first.effect.value = std::min(first.effect.value, allowed(unit, first.speedup));
  first.effect.high = std::min(first.effect.high, allowed(unit, first.speedup));
  return first;
}

}  // namespace causalctl::causal
