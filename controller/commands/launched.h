// Starts the program of `causalctl run` and of `causalctl callpath --`, and asks it to end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {

// Starts the program, suspended, calls the work with it, and then asks it to end. What it leaves
// behind is ended then, or told if the program has ended by itself. If the work ends by an
// exception while the program is still suspended, the guardian kills it.
//
// If the work `names_code`, the program is suspended at its first instruction, when its libraries
// are loaded, and otherwise before that, or where it cannot be suspended there (with a message).
// If such work throws UsageError, because what it names is not in this program, and the program may
// execute another one (wrapper.h), the program goes on to that, and the work is called again.
//
// Returns the code of the work or, if that is ExitCode::ok, what exit_code_of() says of the
// program.
using ProgramWork = std::function<ExitCode(Pid, tracee::Guardian&)>;
ExitCode with_program(const config::Target& target, bool names_code, const ProgramWork& work);

// Returns the code with which causalctl ends for a program that has ended by itself, as a shell
// has it: its exit status, or 128 + the number of the signal that ended it. `status` is as wait(2)
// gives it. Pure.
ExitCode exit_code_of(int status);

// Returns the same, and says why causalctl ends with it unless it is 0.
ExitCode told_exit_code(int status);

// Throws UsageError unless all words of a program come after `--`.
void refuse_program_before_dashes(const std::vector<std::string>& words,
                                  const std::vector<std::string>& after_dashes);

tracee::Launch launch_of(const config::Target& target);

// Lets a suspended program run until its loader is done, before the program's first instruction, so
// that code in its libraries can be named; called again, the program that it executes next. If it
// cannot be suspended there, leaves it where it is, with a message. Throws TargetGone if it ends
// before that, as when a library is missing.
void load_libraries(tracee::Guardian& guardian);

// While it lives, the program gets SIGTERM if causalctl ends at once.
AtEnd tell_to_end_at_end(Pid pid);

// Sends SIGTERM and waits 5 s, or 0.3 s once causalctl was asked to end. Leaves a program that goes
// on alone, with a message, and returns false.
bool end_program(Pid pid, tracee::Guardian& guardian);

}  // namespace causalctl::commands
