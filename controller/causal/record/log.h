// Writes and reads the experiment log (docs/log-format.md). It is JSON Lines: one object a line,
// each written with one write(2) in append mode, so that a killed run leaves a readable file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

inline constexpr int kLogVersion = 1;  // readers refuse a newer one

// Throws what LogWriter(path) would throw, but does not create the file. Call it before anything
// else is done. Besides what base/output_file.h refuses, it refuses a directory, a pipe, a socket
// and a disk; and, with a UsageError, standard output and a file that begins with something other
// than a line of a log.
void check_log(const std::string& path);

class LogWriter {
 public:
  // Creates `path` or appends to it. Throws Error with a hint.
  explicit LogWriter(const std::string& path);

  // Each of these appends one line. If a line does not fit (full disk), what was written of it is
  // cut off, so that the file stays readable, and Error is thrown. Later failures do not throw, so
  // that the caller can still try to write the end of the run.
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

// Calls `write`, which writes to the log. If that fails (full disk), gives `run` the reason
// "log-failed" and a warning, and the caller must end it; what was measured is still reported.
void write_or_end(Run& run, const std::function<void()>& write);

struct ReadLog {
  std::vector<Run> runs;
  std::vector<Warning> warnings;  // "profile.jsonl:17: the line is cut off; it is ignored"
};

// Reads logs of any number of runs, whose lines may be mixed. A line that is cut off gives a
// warning. A line that is not of a log throws an Error with file and line. A run without its end is
// kept. A line that was read before (as when a log is given twice) counts once. run_groups.h
// decides which runs may be averaged, and which units of several runs are the same.
ReadLog read_logs(const std::vector<std::string>& paths);
ReadLog parse_log(const std::string& text, const std::string& name);

}  // namespace causalctl::causal
