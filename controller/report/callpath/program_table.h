// The programs of a set of processes, as reports for people list them.
#pragma once

#include <string>

#include "controller/report/callpath/model.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {

// Writes a table of the programs, if there are several. It does not depend on filters.
void write_programs(const Profile& profile, Text& out);

// "cc1 80.0 % (200 processes), as 15.0 % (200 processes), 3 more"; printable. Shares are those of
// the CPU time. Empty unless there are several programs.
std::string programs_words(const Profile& profile);

}  // namespace causalctl::report::callpath
