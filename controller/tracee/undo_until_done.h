// Undoing what was done to a target that may stand still: frozen, stopped, or in the hands of a
// debugger.
#pragma once

#include <string>
#include <vector>

namespace causalctl::tracee {

// Calls `undo` (the problems it met) until it meets none or has failed in a target that stood still
// neither before nor after it; `wait` while `stands_still`. One that goes on in the midst of an
// attempt, or just after it, was not to blame for what failed: it is tried once more. The first
// attempt comes at once, for threads may be stopped, and looking at a target takes a while; so it
// is repeated, too, if it fails.
template <class Undo, class StandsStill, class Wait>
std::vector<std::string> undo_until_done(Undo&& undo, StandsStill&& stands_still, Wait&& wait) {
  std::vector<std::string> problems = undo();
  while (!problems.empty()) {
    while (stands_still()) wait();
    problems = undo();
    if (!stands_still()) break;
  }
  return problems;
}

}  // namespace causalctl::tracee
