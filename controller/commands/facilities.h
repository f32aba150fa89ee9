// What a run relies on is tried on ourselves before anything is put into the target.
#pragma once

#include <string>
#include <vector>

#include "controller/base/trial.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::commands {

// Of perf/trials.h. Throws Error where there can be no profile: no sample comes, or with another
// clock. Takes some milliseconds.
std::vector<Trial> try_facilities();

void record(const std::vector<Trial>& trials, causal::Run& run);

// Pure: "sample seen, wake-up never-fired (opened, but no record came)".
std::string describe(const std::vector<Trial>& trials);

}  // namespace causalctl::commands
