// Whether a target does anything at all, as seen from outside.
#pragma once

#include <string>

#include "controller/base/types.h"

namespace causalctl::session {

struct TargetState {
  bool stopped = false;   // by a signal, all of its threads
  bool frozen = false;    // by its control group
  std::string waits_for;  // what its first thread waits for, "input on descriptor 0"; may be empty
};

TargetState state_of(Pid target);  // now

}  // namespace causalctl::session
