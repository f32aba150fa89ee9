// From recordings of call paths to the model of their report. Pure.
#pragma once

#include <span>
#include <vector>

#include "controller/callpath/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Combines the runs: what is at one place of one file counts together. Inlined functions become
// frames of their own. If there are several groups of threads, each path begins with its group.
// REQUIRES: at least one run.
report::callpath::Profile present(std::span<const Recording> runs);

}  // namespace causalctl::callpath
