#include "controller/causal/model_error.h"

#include <cmath>

#include "controller/causal/cadence.h"

namespace causalctl::causal {
namespace {

// Of the period, at 100 %; it grows as the root of the speedup.
constexpr double kError = 0.0065;
constexpr double kErrorShortOfCores = 0.017;

}  // namespace

Nanoseconds model_error_of(const Experiment& experiment) {
  const double error =
      short_of_cores(experiment.runnable_wait_ns, experiment.wall_ns) ? kErrorShortOfCores : kError;
  return static_cast<Nanoseconds>(error * std::sqrt(experiment.speedup) *
                                  static_cast<double>(experiment.effective_ns));
}

}  // namespace causalctl::causal
