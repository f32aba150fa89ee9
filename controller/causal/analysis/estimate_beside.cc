#include "controller/causal/analysis/estimate_beside.h"

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"
#include "controller/causal/analysis/beside_strangers.h"
#include "controller/causal/analysis/model_error.h"

namespace causalctl::causal {
namespace {

constexpr double kAsked = 0.5;  // the speedup for which the width is told

constexpr WarningKind<double, std::string, double, std::string, double, double> kBesideStrangers{
    "The target's threads waited for a core {:.0f} % of the time that they wanted to run, because "
    "of {}; a millisecond of CPU time saved is worth {:.1f} ms here. {}; a standard error for "
    "up to ±{:.0f} points (at {:.0f} %) is in every interval. At a quieter time, or on cores of "
    "its own, "
    "the target's effects may be others."};

constexpr WarningKind<double, double, double, double> kUnderQuota{
    "A quota of CPU time (cgroup) stopped the target {:.0f} % of the time while it was used up. "
    "CPU time saved is worth {:.1f} times as much here, and all threads that wait for each other "
    "gain by it; a standard error for up to ±{:.0f} points (at {:.0f} %) is in every interval. "
    "Without "
    "the quota other code may be worth optimising."};

const char* for_whom(Meeting meeting) {
  switch (meeting) {
    case Meeting::apart:
      return "Its threads hardly ever wait for each other: effects hold under this load";
    case Meeting::seldom:
      return "Its threads wait for each other: by what one of them saves others gain in part, as "
             "far as the scheduler shares the cores evenly";
    case Meeting::often:
      return "Its threads meet, or wait for devices, within a time slice: only large effects can "
             "be known under this load";
  }
  return "";
}

CoreTotals totals_of(const std::vector<Run>& runs) {
  CoreTotals totals;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) totals += experiment.cores;
  }
  return totals;
}

// In points, at the speedup for which it is told.
double half_width(const CoresShared& shared) {
  return std::ceil(100 * statistics::kNormal95 * error_beside(shared) * std::sqrt(kAsked));
}

}  // namespace

double quota_share_of(const std::vector<Run>& runs) {
  return classify(totals_of(runs)).quota_share;
}

std::vector<Warning> told_of_strangers(const std::vector<Run>& runs) {
  const CoreTotals totals = totals_of(runs);
  const bool throttled =
      std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.throttled; });
  const CoresShared shared = classify(totals);
  std::vector<Warning> told;
  // While the quota's rule held, its stops were kept apart from the waits for strangers.
  if (shared.matters) {
    told.emplace_back(kBesideStrangers, 100 * shared.waited_share,
                      throttled && totals.quota_ns == 0
                          ? "a quota of CPU time (cgroup) or other programs"
                          : "other programs",
                      shared.stretch, for_whom(shared.meeting), half_width(shared), 100 * kAsked);
  }
  if (shared.quota_share > 0) {
    told.emplace_back(kUnderQuota, 100 * shared.quota_share,
                      1 / (1 - std::min(shared.quota_share, 0.99)), half_width(shared),
                      100 * kAsked);
  }
  return told;
}

}  // namespace causalctl::causal
