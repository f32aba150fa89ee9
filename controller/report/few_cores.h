// When a program uses so little CPU time that its waits matter more than its code.
#pragma once

namespace causalctl::report {

inline constexpr double kFewCores = 0.5;  // on average

}  // namespace causalctl::report
