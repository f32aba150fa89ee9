// What the settings of a recording of call paths mean.
#pragma once

#include "config/config.h"
#include "controller/callpath/run/run.h"

namespace causalctl::commands {

// Throws UsageError if a setting has no meaning.
callpath::Settings settings_of(const config::Callpath& asked);

// Tries what the recording relies on, and leaves out what is not possible here. Throws Error if
// the recording itself is not.
void try_facilities(callpath::Settings& settings);

}  // namespace causalctl::commands
