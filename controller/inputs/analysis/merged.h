// Adds up the profiles of a routine: those of its threads, and those of several runs of a program,
// which is how a routine gets many input sizes (input-sensitive profiling, §4: profiles of threads
// "can be combined in a subsequent step"). Pure.
//
// A routine is the same in two runs if its module has the same path and build-id, and its first
// instruction the same place there.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/inputs/record/recording.h"

namespace causalctl::inputs {

// The part of a routine that one thread executed.
struct ThreadRows {
  std::string run;
  Thread thread;
  std::array<std::vector<SizeRow>, kMetrics> rows;
};

struct MergedRoutine {
  Module module;
  Routine routine;
  std::array<std::vector<SizeRow>, kMetrics> rows;  // of all threads; ascending sizes
  std::vector<ThreadRows> threads;
};

// Throws Error if the runs count in cells of different sizes, or by different rules. REQUIRES: the
// runs were read together (log_read.h), so that no sum overflows.
std::vector<MergedRoutine> merge_runs(std::span<const Recording> runs);

}  // namespace causalctl::inputs
