// What happens to a run whose log cannot be written.
#pragma once

#include <functional>

#include "controller/session/recording.h"

namespace causalctl::session {

// Calls `write`, which writes to the log. If that fails (full disk), gives `run` the reason
// "log-failed" and a warning, and the caller must end it; what was measured is still reported.
void write_or_end(Recording& run, const std::function<void()>& write);

}  // namespace causalctl::session
