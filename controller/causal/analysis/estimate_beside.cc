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
    "of {}; a millisecond of CPU time saved is worth {:.1f} ms here. {}; every interval holds "
    "±{:.0f} points more for that (at {:.0f} %). At a quieter time, or on cores of its own, the "
    "target's effects may be others."};

const char* for_whom(Meeting meeting) {
  switch (meeting) {
    case Meeting::apart:
      return "Its threads hardly ever wait for each other: effects hold under this load";
    case Meeting::seldom:
      return "Its threads wait for each other: by what one of them saves others gain in part, as "
             "far as the scheduler shares the cores evenly";
    case Meeting::often:
      return "Its threads meet, or wait for devices, within a time slice: effects can hardly be "
             "known under this load";
  }
  return "";
}

}  // namespace

std::optional<Warning> told_of_strangers(const std::vector<Run>& runs) {
  CoreTotals totals;
  bool throttled = false;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) totals += experiment.cores;
    throttled = throttled || run.throttled;
  }
  const CoresShared shared = classify(totals);
  if (!shared.matters) return std::nullopt;
  const double half_width = statistics::kNormal95 * error_beside(shared) * std::sqrt(kAsked);
  return Warning(kBesideStrangers, 100 * shared.waited_share,
                 throttled ? "a quota of CPU time (cgroup) or other programs" : "other programs",
                 shared.stretch, for_whom(shared.meeting), std::ceil(100 * half_width),
                 100 * kAsked);
}

}  // namespace causalctl::causal
