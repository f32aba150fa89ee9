// Tells a line that is counted where a loop begins, though its code also runs in each pass: the
// head of a `for` or `while` loop, and a statement that the compiler has begun before the loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Returns a sentence that names a line of the loop that can be taken instead; nullopt if no loop
// with code of the line is without a place. `name` is that of the point.
std::optional<std::string> counted_before_loop(const std::string& name,
                                               const std::vector<unwind::Place>& places, Pid target,
                                               unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
