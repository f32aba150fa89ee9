// Tries what a run relies on, on causalctl itself, before anything is put into the target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/base/trial.h"
#include "controller/session/recording.h"

namespace causalctl::session {

// Makes the trials of perf/trials.h, which take some milliseconds. Throws Error if no sample comes,
// or if it has another clock, because then no `wanted` ("causal profile") is possible. `instead` of
// it is what causalctl can do without samples ("causalctl ab"), or empty.
std::vector<Trial> try_facilities(std::string_view wanted, std::string_view instead = {});

void record(const std::vector<Trial>& trials, Recording& recording);

// Returns text as "sample seen, wake-up never-fired (opened, but no record came)". Pure.
std::string describe(const std::vector<Trial>& trials);

}  // namespace causalctl::session
