// Renders the epochs of a profile as text.
#pragma once

#include "controller/report/callpath/model.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {

// Writes nothing if there is only one.
void write_epochs(const Profile& profile, Text& out);

}  // namespace causalctl::report::callpath
