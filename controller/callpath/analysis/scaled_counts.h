// What the report says of functions whose calls were all counted: the samples of the calls, scaled
// so that their sum is the number that was counted. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Of one run.
struct ScaledCounts {
  std::map<SliceKey, Slice> slices;           // of the counted metrics, in place of the recording's
  std::map<Metric, std::uint64_t> unsampled;  // calls of which none was sampled
};
ScaledCounts scaled_counts(const Recording& run);

// Returns for each function how often it was called, in all runs.
std::vector<report::callpath::Count> counts_of(std::span<const Recording> runs);

}  // namespace causalctl::callpath
