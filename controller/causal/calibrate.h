// The sampling period, chosen by its measured cost: sampling is switched off and on in turn, and
// the progress rate compared. On a virtual machine with all cores busy a sample costs ten times
// what it costs elsewhere, and the baseline, where all threads run, suffers more of it than the
// treatment, where most stand still; so a dear period falsifies effects, not only slows the target.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/stream.h"

namespace causalctl::causal {

struct SamplingCost {
  Nanoseconds period_ns = 0;
  std::optional<double> cost;  // fraction by which progress is slower with sampling on; nullopt:
                               // too few visits to tell
};

// Pure: the robust mean of log(on/off) over the pairs, as a fraction; nullopt for fewer than three.
std::optional<double> cost_of_pairs(const std::vector<std::pair<double, double>>& off_on_periods);

// Pure: the period whose cost is kAffordable, if a period of `measured_ns` costs `cost`.
Nanoseconds affordable_period(Nanoseconds measured_ns, double cost);

// Runs the comparison, for at most `budget_ns` in all; `stop` ends it early. Leaves sampling on at
// the chosen period.
SamplingCost choose_period(Stream& stream, const StreamParts& parts, Nanoseconds budget_ns,
                           const std::function<bool()>& stop);

}  // namespace causalctl::causal
