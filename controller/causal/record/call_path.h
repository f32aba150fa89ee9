// A unit that is a call path: a function when it is called by another one. `memcpy < reply` is
// memcpy when reply calls it, `memcpy < ... < reply` when reply calls it directly or through
// others. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct PathStep {
  std::string function;  // as debug information names it, demangled
  // Its source file, if functions of other files have the name, too; empty if none has.
  std::string file{};
  std::string module{};  // the file name of its binary
  bool through = false;  // others may be between it and the step before
  // It has no code of its own; `function` is what the user wrote, with or without namespaces,
  // template arguments and parameters.
  bool only_inlined = false;
};

struct CallPath {
  Unit unit;  // its name is what the user wrote; its function is that of the first step
  std::vector<PathStep> steps;  // the callee first
};

inline constexpr std::size_t kMostSteps = 16;

// A step as it is written.
struct WrittenStep {
  std::string name;
  bool through = false;
};

// Returns the steps of what the user wrote, the callee first, or none if it is no call path: that
// has " < " in it, with blanks around, so that template arguments and operators are none. A step
// without a name is returned as that.
std::vector<WrittenStep> written_steps(std::string_view text);

// Returns the path as it is written.
std::string text_of(const std::vector<WrittenStep>& steps);

}  // namespace causalctl::causal
