// The code of a function of the target.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/base/types.h"
#include "disasm/graph.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

inline constexpr std::size_t kMostDecodedFunctions = 32;  // for one remark on a point

// Returns the instructions of the function that contains the address, in the order of their
// addresses; none of a function that is very long.
std::vector<disasm::Instruction> function_code(Address address, Pid target,
                                               unwind::Symbolizer& symbolizer);

// Returns the same as a control-flow graph.
disasm::Graph function_graph(Address address, Pid target, unwind::Symbolizer& symbolizer);

// Returns what does not change in the target: its jump tables, as they lie in its memory.
disasm::Constants constants_of(Pid target);

}  // namespace causalctl::progress
