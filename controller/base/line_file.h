// The file of a log: lines are appended to it, each whole or not at all, so that a killed run
// leaves a readable file. They are written aside (base/aside.h), because a file system that does
// not answer, as of a server that is away, must not keep anybody who has something in a target.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "controller/base/aside.h"
#include "controller/base/output_file.h"
#include "controller/base/types.h"

namespace causalctl {

// How a log is told from other files.
struct LogKind {
  std::string_view name;                    // for messages: "an experiment log"
  std::span<const std::string_view> types;  // of its lines: "run", "end"
  // What follows the type in its first line: {"type":"run",BEGIN…
  std::string_view run_begin;
  std::string_view hint;  // given with a line that is of no such log
};

// Returns whether `text` begins with a line of a log of this kind, or with the part that a full
// disk left of one.
bool begins_as(const LogKind& kind, std::string_view text);

class LineFile {
 public:
  // Creates `path` or appends to it. Writes a line feed first if the file ends inside a line, as a
  // killed run leaves it. Throws Error with a hint.
  LineFile(const std::string& path, const LogKind& kind);

  // Throws what LineFile(path, kind) would throw, but does not create the file. Call it before
  // anything else is done. Besides what base/output_file.h refuses, it refuses a directory, a pipe,
  // a socket and a disk; and, with a UsageError, standard output and a file that begins with
  // something other than a line of such a log.
  static void check(const std::string& path, const LogKind& kind);

  // Waits until all lines are written, or the file system does not answer, as finish() does.
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Appends one line, which ends with a line feed, by one write(2). If it does not fit (full disk),
  // what was written of it is cut off, so that the file stays readable, and this call, a later one
  // or finish() throws Error; so does a call when too many lines wait. Later failures do not throw,
  // so that the caller can still try to write the end of the run.
  void append(const std::string& line);
  // Waits until all lines are written, for as long as one is within this time. Throws as append()
  // does.
  void finish(Nanoseconds patience_ns = kSlowDisk);

  bool failed() const { return failed_; }  // at least one line is missing

 private:
  struct File;
  void throw_failure();
  bool wait(Nanoseconds patience_ns) const;

  std::shared_ptr<File> file_;
  Aside writer_;
  // How long all calls of append() together wait for what they have given, so that an error is
  // known at once. A file system that is slow has lines waiting from then on.
  Nanoseconds patience_left_ns_ = 250 * kMillisecond;
  bool stuck_ = false;  // the file system does not answer
  bool failed_ = false;
};

}  // namespace causalctl
