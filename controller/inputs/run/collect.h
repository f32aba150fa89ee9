// Makes a recording of the Valgrind tool's results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/inputs/record/recording.h"
#include "controller/inputs/run/result.h"

namespace causalctl::inputs {

// Adds one result after another of the same run, each of which has all that the one before had, and
// more. Modules, routines and threads get numbers in the order in which they were first seen.
class Collector {
 public:
  explicit Collector(Recording& recording) : recording_(recording) {}

  // Opens the files of new modules, to name their routines. A file that cannot be read, or has no
  // symbols, leaves them without names.
  void take(const Result& result);

 private:
  using Number = std::uint32_t;
  using NewRoutines = std::vector<std::pair<std::size_t, std::uint64_t>>;  // index, file offset

  void take_modules(const Result& result);
  void take_routines(const Result& result, const std::set<Number>& used);
  void take_threads(const Result& result);
  void take_rows(const Result& result);
  void name(std::size_t module, const NewRoutines& routines);

  Recording& recording_;
  std::map<Number, std::size_t> routines_;  // index by number
  std::map<Number, std::size_t> threads_;
};

}  // namespace causalctl::inputs
