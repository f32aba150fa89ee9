// How often calls are made, of which some were watched until they returned: what the report shows
// of a recording's AllWatchedCalls. Pure.
#pragma once

#include "controller/callpath/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

report::callpath::WatchedPlaces call_rates(const Recording& run);

}  // namespace causalctl::callpath
