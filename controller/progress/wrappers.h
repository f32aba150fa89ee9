// Tells entries of a C++ function that only lead to another of its entries: the deleting destructor
// calls the complete one, a constructor may call that of the base part, and a thunk corrects `this`
// and goes on in the function. If both entries counted, one execution would count twice.
//
// An entry is such a wrapper if each way from it to its end passes a call of, or a jump to, another
// entry. A copy of the function's body may do the same, where the function calls itself, but not on
// each of its ways. Where others can replace a library's function, as with -fPIC, calls and jumps
// go through the linkage table.
#pragma once

#include <vector>

#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

bool is_thunk(const unwind::Place& place);  // by its symbol

// Returns whether the place is a wrapper of one of `places`, all of which are entries.
bool is_wrapper(const unwind::Place& place, const std::vector<unwind::Place>& places, Pid target,
                unwind::Symbolizer& symbolizer);

void drop_wrappers(std::vector<unwind::Place>& places, Pid target, unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
