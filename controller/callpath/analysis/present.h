// From recordings of call paths to the model of their report. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Combines the runs: what is at one place of one file counts together. Inlined functions become
// frames of their own. Of a set, each path begins with its program, or its process if `by_process`;
// if there are several groups of threads, its group comes next (group_rows.h). `epoch` is which
// epochs count (epoch_choice.h); all if it is empty. Throws UsageError as ChosenEpochs does.
// REQUIRES: at least one run.
report::callpath::Profile present(std::span<const Recording> runs, const std::string& epoch = "",
                                  bool by_process = false);

// Returns the time in which threads were blocked, by the path that waited; below each path who
// ended the waits, from the function that woke it outwards. Throws UsageError if no run has
// recorded that. REQUIRES: as above.
report::callpath::Profile present_wakers(std::span<const Recording> runs, bool by_process = false);

// Returns the name of the column that has the metric's values.
std::string_view column_of(const Recording& run, Metric metric);

}  // namespace causalctl::callpath
