// Says why nothing of a target runs.
#pragma once

#include <string>

namespace causalctl {

// Returns what has halted all of the target's threads, and what ends that; empty if nothing has.
inline std::string text_of_halt(bool stopped, bool frozen) {
  if (stopped) return "the target is stopped by a signal (SIGSTOP); kill -CONT lets it go on";
  if (frozen) return "the target is frozen by its control group; thaw it";
  return {};
}

}  // namespace causalctl
