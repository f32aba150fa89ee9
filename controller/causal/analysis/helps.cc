#include "controller/causal/analysis/helps.h"

#include <algorithm>
#include <optional>

#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/precision.h"

namespace causalctl::causal {
namespace {

using report::Help;
using report::ProgressResult;
using report::Reason;
using report::Report;
using HelpKind = Help::Kind;

constexpr double kUseful[] = {0.10, 0.05, 0.02, 0.01};  // errors that are worth a longer run
constexpr double kBetter = 0.7;         // … if they are this part of the present one
constexpr double kFewExperiments = 40;  // fewer rarely tell anything
constexpr double kFewVisits = 10;       // in an experiment: their count is noise
constexpr Nanoseconds kUsualPeriod = kMillisecond;
constexpr Nanoseconds kRoomyPeriod = 5 * kMillisecond;  // its samples do not fill the rings
constexpr int kFewerSamples = 4;

bool has(const std::vector<Reason>& reasons, Reason::Kind kind) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [kind](const Reason& one) { return one.kind == kind; });
}

// Returns whether many experiments do not count, and records were lost.
bool loses_records(const Report& report) {
  return report.losses.records_lost > 0 &&
         static_cast<double>(report.experiments_discarded) >
             kManyDiscarded * static_cast<double>(report.experiments);
}

std::optional<Help> run_of(const Report& report, double times, double effect) {
  const double time_ns = times * static_cast<double>(report.wall_ns);
  if (time_ns > static_cast<double>(kLongestAdvised)) return std::nullopt;
  return Help{HelpKind::longer, static_cast<Nanoseconds>(time_ns), effect};
}

// Returns nullopt if a longer run does not make the error usefully smaller.
std::optional<Help> longer(const Report& report, const ProgressResult& point) {
  const auto precision = precision_of(point);
  if (!precision || !point.null_effect) {
    const auto counted = static_cast<double>(report.experiments - report.experiments_discarded);
    if (counted < 1 || report.wall_ns <= 0) return Help{};
    return run_of(report, std::max(kFewExperiments / counted, 2.0), 0);
  }
  const double now = precision->after(1);
  for (const double wanted : kUseful) {
    if (wanted > kBetter * now) continue;
    const auto times = precision->times_for(wanted);
    if (times && report.wall_ns > 0) return run_of(report, std::max(*times, 1.0), wanted);
  }
  return std::nullopt;
}

bool is_rare(const Report& report, const ProgressResult& point) {
  const std::uint64_t counted = report.experiments - report.experiments_discarded;
  return static_cast<double>(point.visits) < kFewVisits * static_cast<double>(counted);
}

// Returns the bound that denies most, if it is a cost of the profile.
std::optional<Reason> dear(const report::Bearing& bearing) {
  if (bearing.bounds.empty()) return std::nullopt;
  Reason most = by_weight(bearing.bounds, report::kToldSpeedup).front();
  return most.per_speedup > 0 ? std::optional(std::move(most)) : std::nullopt;
}

// Returns whether what sampling costs is only not known well.
bool is_not_known(const Reason& cost) { return cost.range && cost.range->low <= 0; }

void add_ways_to_sample(const Report& report, const SmallEffects& small, bool dear,
                        std::vector<Help>& helps) {
  if (report.foreign_share <= kBesideOthers) helps.push_back({HelpKind::more_load});
  if (small.of != nullptr && small.of->is_line) helps.push_back({HelpKind::by_function});
  if (!dear && report.overhead.period_ns > kUsualPeriod) {
    helps.push_back({HelpKind::shorter_period, kUsualPeriod});
  }
}

}  // namespace

std::vector<Reason> cores_taken(const Report& report) {
  std::vector<Reason> reasons;
  if (report.foreign_share > kBesideOthers) {
    Reason taken{Reason::Kind::strangers};
    taken.share = report.foreign_share;
    reasons.push_back(taken);
  }
  if (report.quota_share > kBesideOthers) {
    Reason stopped{Reason::Kind::quota};
    stopped.share = report.quota_share;
    reasons.push_back(stopped);
  }
  return reasons;
}

std::vector<Help> helps_of(const Report& report, const ProgressResult& point,
                           const SmallEffects& small, const std::vector<Reason>& reasons) {
  if (has(reasons, Reason::Kind::own_pace)) return {{HelpKind::latency}};
  if (has(reasons, Reason::Kind::not_visited)) return {{HelpKind::other_point}};
  std::vector<Help> helps;
  const auto cost = dear(bearing_told(point));
  const bool sampling = cost && cost->kind == Reason::Kind::sampling_cost;
  const bool too_many_samples = loses_records(report) && report.overhead.period_ns < kRoomyPeriod;
  if ((sampling && !is_not_known(*cost)) || too_many_samples) {
    helps.push_back({HelpKind::longer_period, kFewerSamples * report.overhead.period_ns});
  } else if (const auto more = longer(report, point)) {
    helps.push_back(*more);
  }
  if (report.foreign_share > kBesideOthers || (sampling && is_not_known(*cost)) ||
      has(failed_checks(report), Reason::Kind::many_discarded) ||
      (loses_records(report) && !too_many_samples)) {
    helps.push_back({HelpKind::quieter});
  }
  if (report.quota_share > kBesideOthers) helps.push_back({HelpKind::without_quota});
  if (has(reasons, Reason::Kind::not_sped_up) || has(reasons, Reason::Kind::open)) {
    add_ways_to_sample(report, small, sampling || too_many_samples, helps);
  }
  if (helps.empty() || is_rare(report, point) ||
      (cost && cost->kind == Reason::Kind::counting_cost)) {
    helps.push_back({HelpKind::other_point});
  }
  return helps;
}

}  // namespace causalctl::causal
