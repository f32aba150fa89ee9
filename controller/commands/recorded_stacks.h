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

namespace causalctl::commands {

class RecordedStacks {
 public:
  // Of the processes of `choice`. `file` is where the log of an epoch is until it is over; what a
  // killed recorder has left there is in left_behind().
  RecordedStacks(const SetChoice& choice, Nanoseconds period_ns, std::string file);

  std::string left_behind();
  void begin();
  // Ends the recording of an epoch. Returns its log (docs/callpath-format.md); empty if there is
  // none, which is told.
  std::string end();

 private:
  std::string take_file() const;

  std::vector<std::string> words_;
  std::string file_;
  std::optional<HelperProcess> process_;
};

}  // namespace causalctl::commands
