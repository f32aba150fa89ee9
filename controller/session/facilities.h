// What a run relies on is tried on ourselves before anything is put into the target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/base/trial.h"
#include "controller/session/recording.h"

namespace causalctl::session {

// Those of perf/trials.h. Throws Error where no sample comes, or with another clock: then there can
// be no `wanted` ("causal profile"). Takes some milliseconds.
std::vector<Trial> try_facilities(std::string_view wanted);

void record(const std::vector<Trial>& trials, Recording& recording);

// Pure: "sample seen, wake-up never-fired (opened, but no record came)".
std::string describe(const std::vector<Trial>& trials);

}  // namespace causalctl::session
