// Finds the loops of a decoded function. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/progress/code_steps.h"

namespace causalctl::progress {

struct CodeLoop {
  std::size_t head = 0;            // an index into the steps, as all others
  std::vector<std::size_t> steps;  // in ascending order
  std::vector<std::size_t> entered_from;
};

// Returns natural loops: for each head all steps that lead back to it and that it dominates (Aho,
// Sethi, Ullman, "Compilers", section 10.4), none for a function that is very long. A jump to an
// address that is computed is taken to lead to all code that nothing else leads to.
std::vector<CodeLoop> loops_of(const std::vector<CodeStep>& steps);

// Returns for each step whether it is one of `from`, or one of these leads to it.
std::vector<bool> reached_from(const std::vector<CodeStep>& steps,
                               const std::vector<std::size_t>& from);

}  // namespace causalctl::progress
