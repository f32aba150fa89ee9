// Undoes what was done to a target that may stand still: frozen, stopped, or traced by a debugger.
#pragma once

#include <string>
#include <vector>

namespace causalctl::tracee {

// Calls `undo`, which returns the problems that it met, until it meets none, or has failed in a
// target that stood still neither before nor after it. Calls `wait` while `stands_still`. Where the
// target goes on during an attempt, or just after it, the attempt may have failed for that, so
// there is one more. The first attempt comes at once, because threads may be stopped and the check
// of a target takes a while; so it is repeated, too, if it fails.
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
