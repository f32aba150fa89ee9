// From what was taken of the threads to frames with names and lines.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/report/stacks/model.h"
#include "controller/stacks/take.h"

namespace causalctl::stacks {

struct Hooks {
  std::function<void(std::size_t done, std::size_t all)> names;  // called before each thread
};

struct Wanted {
  bool reference = false;  // each thread is stopped, and unwound by libunwind-ptrace meanwhile
  bool kernel = false;     // the functions of the kernel in which threads wait
};

// Returns the stacks of all threads of the process.
report::stacks::Process stacks_of(Pid pid, const Wanted& wanted, const Hooks& hooks);

// Returns the order in which threads are shown: running ones first. Pure.
bool shown_before(const report::stacks::Thread& a, const report::stacks::Thread& b);
report::stacks::State state_of(char state);  // Pure.

}  // namespace causalctl::stacks
