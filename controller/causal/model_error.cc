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
  const bool short_of_cores = static_cast<double>(experiment.runnable_wait_ns) >
                              kShortOfCores * static_cast<double>(experiment.wall_ns);
  return static_cast<Nanoseconds>((short_of_cores ? kErrorShortOfCores : kError) *
                                  std::sqrt(experiment.speedup) *
                                  static_cast<double>(experiment.effective_ns));
}

}  // namespace causalctl::causal
