// Says what a point does not count although its name may suggest it, and what it counts besides.
#pragma once

#include <string>
#include <vector>

#include "controller/progress/progress.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Returns sentences about a resolved point: calls of a function that are inlined, debug information
// that is missing (split DWARF), other functions at the same address, copies that may be of another
// function, loops.
std::vector<std::string> remarks_on(const Point& point, Pid target, unwind::Symbolizer& symbolizer);

// Returns why a function that has no code of its own cannot be a point, and which line can; empty
// if it is not inlined anywhere in the executable.
std::string only_inlined(const std::string& function, unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
