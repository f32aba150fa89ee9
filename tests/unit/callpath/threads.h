// Threads that have names.
#pragma once

#include "controller/base/types.h"

namespace causalctl::callpath::test {

inline constexpr ThreadId kOne{100, 1};
inline constexpr ThreadId kTwo{101, 2};

}  // namespace causalctl::callpath::test
