// How often calls are made, of which some were watched until they returned: what the report shows
// of a recording's AllWatchedCalls. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/callpath/expansion.h"
#include "controller/callpath/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// The nodes of the rates (CallRate::callees) are left to the one who makes the profile's tree.
struct CallRates : report::callpath::WatchedPlaces {
  std::vector<NodeId> calls;  // of each of `rates`: the path down to the call
};
CallRates call_rates(const Recording& run);

// Returns the frames down to a call, outermost first, inlined functions included.
std::vector<std::uint32_t> frames_down_to(NodeId call, const Recording& run, Frames& frames);

}  // namespace causalctl::callpath
