// Call paths beside a continuous profile, at a lower rate (`record --stacks`): another causalctl
// records them, epoch by epoch, as `causalctl callpath` does. So the recorder of counts goes on
// whatever becomes of it, and pays nothing for unwinding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/helper_process.h"
#include "controller/base/types.h"
#include "controller/commands/process_set_options.h"
#include "controller/continuous/collect/recorder.h"

namespace causalctl::commands {

class RecordedStacks final : public continuous::PathsRecorder {
 public:
  // Of the processes of `choice`. No recording is longer than `longest_ns`, whatever becomes of
  // this process. Logs are in two files, in turns, whose names begin with `file`. take() returns
  // first what a killed recorder has left there.
  RecordedStacks(const SetChoice& choice, Nanoseconds period_ns, Nanoseconds longest_ns,
                 std::string file);
  ~RecordedStacks() override;

  void begin() override;
  void end() override;
  // A log that is not one, or that is too long, is told and dropped.
  std::optional<std::string> take(Nanoseconds patience_ns) override;

 private:
  struct Child {
    HelperProcess process;
    std::string file;
  };

  std::string next_file();

  SetChoice choice_;
  std::vector<std::string> options_;
  std::string file_;
  int turn_ = 0;
  std::optional<Child> running_, ending_;
  std::vector<std::string> left_behind_;  // files
};

}  // namespace causalctl::commands
