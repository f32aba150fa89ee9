// The names of this machine's system calls.
#pragma once

#include <string_view>

namespace causalctl {

// Returns "" for a number that no call has. Pure.
std::string_view name_of_call(long number);

}  // namespace causalctl
