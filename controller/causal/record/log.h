// The experiment log: JSON Lines, one object a line, each written with one write(2) in append mode,
// so that a killed run leaves a readable file (docs/log-format.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

inline constexpr int kLogVersion = 1;  // readers refuse a newer one

// Throws what LogWriter(path) would throw, without creating the file: before anything else is done.
// Refused are, besides what base/output_file.h refuses: a directory, pipe, socket or disk; and, as
// UsageErrors, standard output and a file that begins with something else than a line of a log.
void check_log(const std::string& path);

class LogWriter {
 public:
  // Creates `path` or appends to it. Throws Error with a hint.
  explicit LogWriter(const std::string& path);

  // Each appends one line. A line that does not fit (full disk) is cut off again so that the file
  // stays readable, and Error is thrown: once, so that a caller who then writes the end of the run
  // is not stopped a second time. Later lines are still tried.
  void run(const Run& run);     // {"type":"run",…}
  void pacing(const Run& run);  // {"type":"pacing",…}, one for each point
  void experiment(const Run& run, const Experiment& experiment);
  void samples(const Run& run, const UnitSamples& samples);
  void end(const Run& run);  // {"type":"end",…}

  bool failed() const { return failed_; }  // at least one line is missing

 private:
  void append(const std::string& line);

  Fd fd_;
  std::string path_;
  bool failed_ = false;
};

// Writes to the log. Where that fails (a full disk) the run is to end, with the reason "log-failed"
// and a warning; what was measured is reported nevertheless.
void write_or_end(Run& run, const std::function<void()>& write);

struct ReadLog {
  std::vector<Run> runs;
  std::vector<Warning> warnings;  // "profile.jsonl:17: cut off, ignored"
};

// Reads logs of any number of runs, in any mixture. A line that is cut off is a warning; a line
// that is not ours is an Error with file and line; a run without its end is kept; a line that was
// read before (the same log given twice) counts once. What may be averaged, and which units of
// several runs are one, is for run_groups.h.
ReadLog read_logs(const std::vector<std::string>& paths);
ReadLog parse_log(const std::string& text, const std::string& name);

}  // namespace causalctl::causal
