// Says which passes of a line count, where the line has more than one thing to pass.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Returns what is counted of a loop that is written on the one line of the places; nullopt if there
// is no such loop. `name` is that of the point.
std::optional<std::string> loop_on_line(const std::string& name,
                                        const std::vector<unwind::Place>& places, Pid target,
                                        unwind::Symbolizer& symbolizer);

// Returns a sentence if the line has code both of a function and of one that is written within it,
// as a lambda is; otherwise nullopt.
std::optional<std::string> function_within(const std::string& name,
                                           const std::vector<unwind::Place>& places);

}  // namespace causalctl::progress
