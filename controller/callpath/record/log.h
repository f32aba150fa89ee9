// Writes and reads the log of call paths (docs/callpath-format.md). It is JSON Lines: one object a
// line, each written with one write(2) in append mode, so that a killed run leaves a readable file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/json_fields.h"
#include "controller/base/json_lines.h"
#include "controller/base/line_file.h"
#include "controller/base/warning.h"
#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

inline constexpr int kLogVersion = 1;  // readers refuse a newer one
// The reader skips lines of the type "lives", which the writer does not write.
inline constexpr std::string_view kLogTypes[] = {
    "run",    "modules", "strings", "locations", "nodes", "frames", "tails", "groups",
    "starts", "epochs",  "cells",   "wakers",    "lives", "losses", "end"};
inline constexpr LogKind kLogKind{
    "a log of call paths", kLogTypes, "\"kind\":\"callpath\"",
    "causalctl report reads what callpath wrote (docs/callpath-format.md)"};

// Throws what LogWriter(path) would throw, but does not create the file (base/line_file.h).
void check_log(const std::string& path);

// Writes one run. What it appends never refers to what is not in the file yet.
class LogWriter {
 public:
  // Creates `path` or appends to it. Throws Error with a hint.
  explicit LogWriter(const std::string& path);

  // Appends the first line of the run. Call it once, before the others.
  void begin(const Recording& recording);
  // Appends what is new since the last call. REQUIRES: nothing that was written has changed, except
  // that values grew of what was the last epoch then, locations got their frames, and totals
  // changed.
  void update(const Recording& recording);
  // Appends what is new, and the last line.
  void end(const Recording& recording);
  // Waits until all lines are written; throws as they do.
  void finish() { file_.finish(); }

  // Errors are those of LineFile::append(): only the first failure throws. After it only end()
  // writes, and only the last line.
  bool failed() const { return file_.failed(); }

 private:
  // What one value has grown by.
  struct Growth {
    NodeId node = kRoot;
    std::uint32_t metric = 0;  // index in the line's metrics
    std::uint64_t value = 0;
  };

  json_fields::Json line_of_type(const char* type) const;
  void append(const json_fields::Json& line);
  void append_modules(const Recording& recording);
  void append_locations(const Recording& recording);
  void append_frames(const Recording& recording);
  void append_nodes(const Recording& recording);
  void append_tails(const Recording& recording);
  void append_groups(const Recording& recording);
  void append_starts_and_epochs(const Recording& recording);
  void append_cells(const Recording& recording);
  void append_rows(const SliceKey& key, const std::vector<std::string_view>& metrics,
                   const std::vector<Growth>& growth);
  void append_cells_line(const SliceKey& key, const std::vector<std::string_view>& metrics,
                         std::uint64_t grown, std::span<const std::span<const Growth>> rows);
  static void add_growth(const Slice& slice, std::uint32_t metric, Slice& written,
                         std::vector<Growth>& all);
  void append_wakers(const Recording& recording);
  void append_losses(const Recording& recording);
  std::size_t number_of(const std::string& text, std::vector<std::string>& fresh);

  LineFile file_;
  std::string run_;
  std::uint64_t next_line_ = 0;
  std::size_t modules_ = 0;
  std::size_t locations_ = 0;
  std::size_t nodes_ = 0;
  std::size_t tails_ = 0;
  std::size_t processes_ = 0;
  std::size_t groups_ = 0;
  std::size_t starts_ = 0;  // groups whose start was written, if they have one
  std::size_t epochs_ = 0;
  std::vector<bool> has_frames_;  // by location: whether its frames were written
  std::unordered_map<std::string, std::size_t> strings_;
  std::uint32_t first_growing_ = 0;    // the first epoch that is not over
  std::map<SliceKey, Slice> written_;  // its values and later ones
  std::map<std::uint32_t, std::map<std::pair<NodeId, NodeId>, std::uint64_t>> wakers_;  // written
  std::string losses_;  // the last such line, without its number
};

struct ReadLog {
  std::vector<Recording> runs;
  std::vector<Warning> warnings;  // "callpath.jsonl:17: the line is cut off; it is ignored"
};

// Reads logs of any number of runs, whose lines may be mixed. A line that is cut off gives a
// warning. A line that is not of a log, or that names what no line before it has, throws an Error
// with file and line. A run without its end is kept. A line that was read before (as when a log is
// given twice) counts once. `with_parts`: the recordings get their parts.
ReadLog parse_logs(const std::vector<LogText>& logs, bool with_parts = false);
inline ReadLog parse_log(const std::string& text, const std::string& name) {
  return parse_logs({{name, text}});
}

}  // namespace causalctl::callpath
