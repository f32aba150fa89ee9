// Texts as JSON has them. Pure.
#pragma once

#include <string>

namespace causalctl::report::callpath {

// Returns the text in quotes; bytes that are not UTF-8 become U+FFFD.
std::string quoted(const std::string& text);

}  // namespace causalctl::report::callpath
