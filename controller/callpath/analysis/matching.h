// Gives files of one recording the paths that they have in another one. Pure.
#pragma once

#include <vector>

#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

// In `before`, renames the modules and source files of which `after` has a counterpart with another
// path: the executables are each other's; otherwise the file's name decides, if only one file has
// it, or the folders before it, and of shared objects the name without its version. Files that were
// deleted meanwhile get the path that they had.
void match_files(std::vector<Recording>& before, std::vector<Recording>& after);

}  // namespace causalctl::callpath
