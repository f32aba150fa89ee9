// Turns files of callgrind into exact counts by build: each object is opened where callgrind found
// it, for its build-id, and counts that do not fit it are left out.
//
// Code of an object's .plt, .init and .fini stands in callgrind's file without its object, where it
// lay in memory. Direct calls lead there from the object itself, so that their operands tell how
// far the object was from its link-time addresses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/exact_counts.h"

namespace causalctl::continuous {

struct Imported {
  std::map<Image, ExactCounts> images = {};  // files with a build-id
  std::string command = {};                  // of the first file that tells it
  std::uint64_t instructions = 0;            // all executions, those that are left out too
  std::uint64_t left_out = 0;                // executions: in objects of the warnings
  std::uint64_t elsewhere = 0;               // executions: in code of no file
  std::vector<std::string> warnings = {};
};

// Sums files of callgrind. Throws Error if one cannot be read.
Imported import_callgrind(const std::vector<std::string>& files);

}  // namespace causalctl::continuous
