// Makes all runs of a comparison, in the order of its schedule, until there are enough. Shell.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "config/config.h"
#include "controller/compare/comparison.h"

namespace causalctl::compare {

// What the status line shows.
struct Progress {
  bool null = false;        // A against A
  std::size_t pairs = 0;    // done in this phase
  std::size_t planned = 0;  // at most
  // Returns the effect so far in the metric that decides. It takes some milliseconds, so call it
  // only to show it.
  std::function<std::optional<Interval>()> effect;
};

struct RunsHooks {
  std::function<void(const Progress&)> show;  // called once a run
  std::function<int()> interrupts;            // returns how often the user asked for the end
};

struct Compared {
  report::Comparison comparison;
  // What ended the comparison early, as run_side() threw it; null if nothing did.
  std::exception_ptr failure;
};

// REQUIRES config::check_ab() of their configuration. A failed run ends the comparison, an
// interrupt too, which is no failure; what was measured until then is in the result.
Compared run_comparison(const config::Ab& ab, const config::Progress& progress,
                        const RunsHooks& hooks);

// Return the pairs, and the pairs of A against A, that are run if the configuration does not say.
std::size_t planned_pairs(const config::Ab& ab);
std::size_t null_pairs(const config::Ab& ab);

}  // namespace causalctl::compare
