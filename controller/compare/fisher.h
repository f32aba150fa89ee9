// Fisher's exact test (Statistical Methods for Research Workers (1934), §21.02): whether runs of
// one side fail more often than those of the other. Pure.
#pragma once

#include <cstddef>

namespace causalctl::compare {

struct Failures {
  std::size_t failed = 0;
  std::size_t runs = 0;  // those that failed included
};

// Returns the two-sided p-value: the probability, if both sides fail equally often, of a table that
// is at most as probable as this one. 1 if a side has no runs.
double fisher_exact(const Failures& a, const Failures& b);

}  // namespace causalctl::compare
