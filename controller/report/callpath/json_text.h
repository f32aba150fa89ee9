// Texts as JSON has them, which are those of every format: the log is JSON, and a recording shall
// read the same before and after it. Pure.
#pragma once

#include <string>

#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

// Returns the text in quotes; bytes that are not UTF-8 become U+FFFD.
std::string quoted(const std::string& text);

// Makes all texts of the profile UTF-8, as quoted() does. Every format wants that.
void make_utf8(Profile& profile);

}  // namespace causalctl::report::callpath
