// How often calls are made, of which some were watched until they returned: what the report shows
// of a recording's AllWatchedCalls. Pure.
#pragma once

#include <vector>

#include "controller/callpath/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Those with the most time first. Leaves out places with too few returns to tell.
std::vector<report::callpath::CallRate> call_rates(const Recording& run);

}  // namespace causalctl::callpath
