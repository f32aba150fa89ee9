// Says of a profile whose names it shows, where it is of a program that runs code of another
// language. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Returns a sentence for each interpreter whose frames have a twentieth of the time or more, with
// all that is below them, unless the code that it runs has names.
std::vector<std::string> words_of_interpreters(const report::callpath::Profile& profile);

}  // namespace causalctl::callpath
