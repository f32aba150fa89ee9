// Writes and reads the experiment log (docs/log-format.md). It is JSON Lines: one object a line,
// each written with one write(2) in append mode, so that a killed run leaves a readable file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/base/json_lines.h"
#include "controller/base/line_file.h"
#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

inline constexpr int kLogVersion = 1;  // readers refuse a newer one

inline constexpr std::string_view kLogTypes[] = {"run", "experiment", "pacing", "samples", "end"};
inline constexpr LogKind kLogKind{
    "an experiment log", kLogTypes,
    "\"version\":", "causalctl report reads what attach and run wrote (docs/log-format.md)"};

// Throws what LogWriter(path) would throw, but does not create the file (base/line_file.h).
void check_log(const std::string& path);

class LogWriter {
 public:
  // Creates `path` or appends to it. Throws Error with a hint.
  explicit LogWriter(const std::string& path);

  // Each of these appends one line, as LineFile::append() does.
  void run(const Run& run);     // {"type":"run",…}
  void pacing(const Run& run);  // {"type":"pacing",…}, one for each point
  void experiment(const Run& run, const Experiment& experiment);
  void samples(const Run& run, const UnitSamples& samples);
  void end(const Run& run);  // {"type":"end",…}

  void finish() { file_.finish(); }  // waits until all lines are written; throws as they do

  bool failed() const { return file_.failed(); }  // at least one line is missing

 private:
  LineFile file_;
};

struct ReadLog {
  std::vector<Run> runs;
  std::vector<Warning> warnings;  // "profile.jsonl:17: the line is cut off; it is ignored"
};

// Reads logs of any number of runs, whose lines may be mixed. A line that is cut off gives a
// warning. A line that is not of a log throws an Error with file and line. A run without its end is
// kept. A line that was read before (as when a log is given twice) counts once. run_groups.h
// decides which runs may be averaged, and which units of several runs are the same.
ReadLog read_logs(const std::vector<std::string>& paths);
ReadLog parse_logs(const std::vector<LogText>& logs);
inline ReadLog parse_log(const std::string& text, const std::string& name) {
  return parse_logs({{name, text}});
}

}  // namespace causalctl::causal
