// The words for a finding, its reasons, and what would help. Nothing else has such words: what a
// report says first and what it says below come from the same values. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/report/causal/model.h"

namespace causalctl::report {

// Returns the words of a reason, without a capital or a full stop.
std::string words_of(const Reason& reason);

// Returns the words of one thing that would help, as "a run of about 4 min (for ±5 points)".
std::string words_of(const Help& help);
std::string words_of(const std::vector<Help>& helps);  // joined by "or"

// Returns what the report says first: the checks that failed, then an effect, or why there is none
// and what would help.
std::string statement_of(const Report& report);

// Returns the percentage rounded up to the one digit that is shown, because a bound must not be
// rounded down.
double rounded_up_percent(double fraction);

}  // namespace causalctl::report
