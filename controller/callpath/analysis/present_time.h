// What a report says at its top of a run's time: what of it is missing in the report, and what was
// lost to the program. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Adds the findings about the run with this number. `which` names it at the head of each text.
void add_time(const Recording& run, std::size_t number, const std::string& which,
              report::callpath::Profile& profile);

}  // namespace causalctl::callpath
