// Tells, from outside, whether a target does anything at all.
#pragma once

#include <string>

#include "controller/base/types.h"

namespace causalctl::session {

struct TargetState {
  bool stopped = false;  // a signal has stopped all of its threads
  bool frozen = false;   // its control group is frozen
  std::string
      waits_for;  // what its first thread waits for, as "input on descriptor 0"; may be empty
};

TargetState state_of(Pid target);

}  // namespace causalctl::session
