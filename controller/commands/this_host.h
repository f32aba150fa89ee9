// The host as a database of profiles describes it.
#pragma once

#include "controller/continuous/record/database.h"

namespace causalctl::commands {

continuous::Host this_host();

}  // namespace causalctl::commands
