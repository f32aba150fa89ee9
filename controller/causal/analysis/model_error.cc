#include "controller/causal/analysis/model_error.h"

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"
#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {
namespace {

// The standard error as a part of the period, at 100 %. It grows as the root of the speedup.
constexpr double kError = 0.0065;
constexpr double kErrorShortOfCores = 0.017;

// Errors beside strangers that have a third of the time or more, by how often threads meet. For a
// smaller part of the time they are proportionally smaller.
constexpr double kFullyShared = 1.0 / 3;
constexpr double kErrorApart = 0.025;
constexpr double kErrorSeldom = 0.08;
constexpr double kErrorOften = 0.17;  // also of threads that meet seldom, on more than two cores

// The error if a quota of CPU time stops the target for a third of the time or more, likewise.
constexpr double kErrorQuota = 0.04;

double fully_shared_error(const CoresShared& shared) {
  switch (shared.meeting) {
    case Meeting::apart:
      return kErrorApart;
    case Meeting::seldom:
      return shared.many_cores ? kErrorOften : kErrorSeldom;
    case Meeting::often:
      return kErrorOften;
  }
  return kErrorOften;
}

// Under a quota a thread that rests at times, and waits for no other, rests more often if its code
// is faster. Then it leaves CPU time to the others, at most what the code saves. How much is not
// predicted, so the interval reaches as far.
double error_of_rests(const Experiment& experiment) {
  const CoreTotals& cores = experiment.cores;
  if (cores.quota_granted_ns <= 0) return 0;
  const double most = experiment.speedup * static_cast<double>(cores.resting_unit_ns) /
                      static_cast<double>(cores.quota_granted_ns);
  return most / statistics::kNormal95;
}

}  // namespace

double error_beside(const CoresShared& shared) {
  const auto in_proportion = [](double share) { return std::min(1.0, share / kFullyShared); };
  const double of_quota = kErrorQuota * in_proportion(shared.quota_share);
  if (!shared.matters) return of_quota;
  return std::hypot(of_quota, fully_shared_error(shared) * in_proportion(shared.waited_share));
}

Nanoseconds model_error_of(const Experiment& experiment) {
  const double error =
      short_of_cores(experiment.runnable_wait_ns, experiment.wall_ns) ? kErrorShortOfCores : kError;
  const double of_model = std::hypot(error, error_beside(classify(experiment.cores)));
  const double of_all =
      std::hypot(of_model * std::sqrt(experiment.speedup), error_of_rests(experiment));
  return static_cast<Nanoseconds>(of_all * static_cast<double>(experiment.effective_ns));
}

}  // namespace causalctl::causal
