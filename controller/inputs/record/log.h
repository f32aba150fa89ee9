// Writes the log of input sizes (docs/inputs-format.md), which is JSON Lines: one object a line,
// each written with one write(2), so that a killed run leaves a readable file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/base/json_fields.h"
#include "controller/base/line_file.h"
#include "controller/inputs/record/recording.h"

namespace causalctl::inputs {

// Throws what LogWriter(path) would throw, but does not create the file (base/line_file.h).
void check_log(const std::string& path);

// Writes one run. What it appends never refers to what is not in the file yet.
class LogWriter {
 public:
  // Creates `path` or appends to it. Throws Error with a hint.
  explicit LogWriter(const std::string& path);

  // All but finish() throw as LineFile::append() does.
  void begin(const Recording& recording);  // call it once, first
  // Appends what is new since the last time. REQUIRES: the lists of modules, routines and threads
  // have grown at their ends only, and the numbers of rows have grown.
  void update(const Recording& recording);
  // REQUIRES: recording.end.
  void end(const Recording& recording);
  // Waits until all is written. Throws as LineFile::finish() does.
  void finish() { file_.finish(); }

 private:
  // Routine, thread and metric, and the size.
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, std::uint64_t>;

  json_fields::Json line_of_type(const char* type) const;
  void append(const json_fields::Json& line);
  void append_lists(const Recording& recording);
  void append_points(const RoutineProfile& profile, std::size_t metric);

  LineFile file_;
  std::string run_;
  std::size_t modules_ = 0;  // that are written, as what follows
  std::size_t routines_ = 0;
  std::size_t threads_ = 0;
  std::map<Key, SizeRow> rows_;
};

}  // namespace causalctl::inputs
