// The words of reports of input sizes. Pure.
#pragma once

#include <string>

#include "controller/report/inputs/model.h"

namespace causalctl::report::inputs {

// "n² [1.94, 2.03]", "n log n", "constant", "unclear", "too few sizes", "sizes too close".
std::string growth_words(const Growth& growth);

// "37 [30, 45] times", "more than a million times".
std::string times_words(const Interval& times);

// The verdict: the first line of each report.
std::string verdict_words(const Profile& profile);
// What the forecast is made of; empty if there is none.
std::string forecast_words(const Profile& profile);

// One routine's verdict.
std::string routine_words(const Profile& profile, const Routine& routine);

}  // namespace causalctl::report::inputs
