// All runs of a comparison, in the order of its schedule, until there are enough. Shell.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "config/config.h"
#include "controller/compare/comparison.h"

namespace causalctl::compare {

// For the status line.
struct Progress {
  bool null = false;        // A against A
  std::size_t pairs = 0;    // done, in this phase
  std::size_t planned = 0;  // at most
  // So far, of the metric that decides: takes some milliseconds, so ask only where it is shown.
  std::function<std::optional<Interval>()> effect;
};

struct RunsHooks {
  std::function<void(const Progress&)> show;  // once a run
  std::function<int()> interrupts;            // how often the user asked for the end
};

struct Compared {
  report::Comparison comparison;
  std::exception_ptr failure;  // what ended it early, as thrown by run_side(); null: nothing did
};

// REQUIRES config::check_ab() of their configuration. A failed run ends the comparison, an
// interrupt too, which is no failure; what was measured until then is in the result.
Compared run_comparison(const config::Ab& ab, const config::Progress& progress,
                        const RunsHooks& hooks);

// Pairs, and pairs of A against A, where the configuration does not say.
std::size_t planned_pairs(const config::Ab& ab);
std::size_t null_pairs(const config::Ab& ab);

}  // namespace causalctl::compare
