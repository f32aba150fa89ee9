// What makes a run one that failed, which --allow-failures lets be made again.
#pragma once

#include "controller/base/error.h"

namespace causalctl::compare {

// The command or the load failed, or took too long, or a point was hardly passed.
class RunFailed : public Error {
 public:
  using Error::Error;
};

}  // namespace causalctl::compare
