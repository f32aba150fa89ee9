// Says in which binaries a point is counted, and in which others its code stands, too.
#pragma once

#include <string>
#include <vector>

#include "controller/progress/progress.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Returns "a, b, c and 4 more".
std::string few_of(const std::vector<std::string>& names);

// Returns the functions that the places of one line are in, if these have nothing in common; none
// otherwise. A line belongs to one function, and to what that was inlined into; files with one
// name, and lambdas, have others.
std::vector<std::string> unrelated_functions(const std::vector<unwind::Place>& places,
                                             unwind::Symbolizer& symbolizer);

// Adds sentences about a point whose SPEC names no binary: the libraries that it is in, if it is
// not in the executable; the others that have the same function or line, if it is; the functions
// that have a line, if they have nothing in common.
void add_other_binaries(const Point& point, unwind::Symbolizer& symbolizer,
                        std::vector<std::string>& remarks);

// Returns why a function without `binary:` is not taken: its calls are all inlined in the
// executable, and what has code is another, private function of a library. Empty if it is taken.
std::string another_library_has_it(const std::string& function,
                                   const std::vector<unwind::Place>& places,
                                   unwind::Symbolizer& symbolizer);

}  // namespace causalctl::progress
