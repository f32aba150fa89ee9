// Keeps only some paths of a profile (Hall, "Call path refinement profiles", IEEE Transactions on
// Software Engineering 21 (1995)). Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Filters nest: each one looks only at what is called, directly or not, by the function that the
// filter before it has found. What it finds is the outermost such function.
struct Filter {
  enum class Kind {
    through,  // keeps paths with the function
    under,    // keeps them, too, and cuts off what is above the function
    without,  // drops paths with the function
  };
  Kind kind = Kind::through;
  std::string function;  // as people write it (unwind/names/function_name.h), or a group of threads
};

// Throws UsageError if no function has a filter's name, with the nearest ones, and if no path is
// left.
void apply(const std::vector<Filter>& filters, report::callpath::Profile& profile);

}  // namespace causalctl::callpath
