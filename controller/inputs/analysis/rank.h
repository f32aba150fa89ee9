// The order in which routines are shown: those first whose cost certainly grows faster than n log
// n, by what that would cost. Pure.
//
// Rule: a routine whose own cost is superlinear stands above one that is superlinear only by what
// it calls, because it is the cause. (ComAir ranks a callee before its caller at equal growth; who
// calls whom is not recorded.) Within these two classes the share of the run is multiplied by what
// growth beyond linear makes of it at ten times the size, with the lower end of the exponent's
// interval. All others follow by the share that they have themselves.
#pragma once

#include "controller/report/inputs/model.h"

namespace causalctl::inputs {

void rank(report::inputs::Profile& profile);

}  // namespace causalctl::inputs
