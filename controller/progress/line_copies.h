// Tells copies of a line's statement, which compilers make within one function, from its parts, for
// compilers that do not mark where a statement begins (Place::returns).
//
// Two runs of code of the line are copies if they do the same: call the same functions and write
// memory at the same columns. A compiler does not make two calls of one in the source, unless it
// copies it. It may split one assignment into several writes, so writes alone show copies only in
// different basic blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Adds the copies among the returns of the places of a line, and leaves in `returns` those that may
// be copies.
void add_copies(std::vector<unwind::Place>& places, Pid target, unwind::Symbolizer& symbolizer);

// Returns what is to be said about copies that may not be counted: returns of the places, and
// iterations that follow each other without code of another line, or are done together (vectors).
std::optional<std::string> uncounted_copies(const std::string& name,
                                            const std::vector<unwind::Place>& places, Pid target,
                                            unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
