// What of a latency is the cost of counting its begin and its end. Pure.
#pragma once

#include <string>

#include "controller/base/types.h"

namespace causalctl {

// Returns a clause that says so, or the empty string if it is a small part of the mean. `cost_ns`
// is half of what a visit of the begin costs, and half of one of the end.
std::string words_of_counting(Nanoseconds cost_ns, double mean_s);

}  // namespace causalctl
