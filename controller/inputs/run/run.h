// Runs a program under Valgrind with our tool, and records the input sizes of its routines.
#pragma once

#include <functional>
#include <string>

#include "controller/inputs/record/recording.h"
#include "controller/inputs/run/valgrind.h"

namespace causalctl::inputs {

// What is told while the program runs.
struct RunHooks {
  std::function<bool()> due;                          // whether `show` would show anything
  std::function<void(const std::string& text)> show;  // "12 s, 3.1 G basic blocks"
};

struct RunOutcome {
  Recording recording;
  int status = 0;  // of the program, as wait(2) gives it
};

// Returns when the program has ended. It has our standard files. If causalctl is asked to end
// meanwhile, the program gets SIGTERM, and after two seconds SIGKILL. The log is written while it
// runs, so that one is there however this process ends. Throws Error if Valgrind cannot be found,
// does not start, or cannot run the program.
RunOutcome run_program(const RunSettings& settings, const RunHooks& hooks);

}  // namespace causalctl::inputs
