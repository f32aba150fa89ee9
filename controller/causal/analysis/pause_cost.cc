#include "controller/causal/analysis/pause_cost.h"

#include <algorithm>
#include <cmath>

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kDearestPause = 2 * kMillisecond;
// A shot at a thread of our own sees more than one part in this number of the cost.
constexpr int kMostUnseen = 6;
// The error, as a part of the cost, for pauses of quite another length than those that were
// measured. In experiments they are up to 17 times as long (docs/virtual-time.md, "What a pause
// costs").
constexpr double kLengthError = 0.5;
constexpr Nanoseconds kUnknownCost = 100 * kMicrosecond;

// Returns the standard error of one pause's cost because it depends on the length: 0 for pauses as
// long as those that were measured, and half of the largest error for a half or twice the length.
double length_error_ns(const PauseCost& cost, double pause_ns) {
  const auto known_ns = static_cast<double>(cost.length_ns);
  const double longer_ns = std::max(pause_ns, known_ns);
  const double alike = longer_ns > 0 ? std::min(pause_ns, known_ns) / longer_ns : 0;
  return kLengthError * static_cast<double>(cost.cost_ns) * (1 - alike);
}

}  // namespace

double mean_pause_ns(Nanoseconds paid_ns, std::uint64_t pauses) {
  return pauses == 0 ? 0 : static_cast<double>(paid_ns) / static_cast<double>(pauses);
}

double pauses_for(Nanoseconds delay_ns, double pause_ns, Nanoseconds cost_ns) {
  const double each_ns = pause_ns + static_cast<double>(cost_ns);
  return each_ns > 0 ? static_cast<double>(delay_ns) / each_ns : 0;
}

PauseCost guessed_pause_cost(Nanoseconds shot_cost_ns) {
  return {shot_cost_ns, shot_cost_ns > 0 ? shot_cost_ns : kUnknownCost};
}

PauseCost given_pause_cost(Nanoseconds cost_ns) { return {cost_ns}; }

double pauses_of_one_thread(const Experiment& experiment, const Overhead& overhead) {
  const double pause_ns = mean_pause_ns(experiment.paid_ns, experiment.pauses);
  return std::min(pauses_for(experiment.delay_ns, pause_ns, overhead.pause_cost.cost_ns),
                  static_cast<double>(experiment.pauses));
}

Nanoseconds error_of_pauses(const Experiment& experiment, const Overhead& overhead) {
  const PauseCost& cost = overhead.pause_cost;
  const double pause_ns = mean_pause_ns(experiment.paid_ns, experiment.pauses);
  const double of_one_ns =
      std::hypot(static_cast<double>(cost.error_ns), length_error_ns(cost, pause_ns));
  return static_cast<Nanoseconds>(pauses_of_one_thread(experiment, overhead) * of_one_ns);
}

// N pauses of cost c in the virtual time V leave V - N c for work, so V / (V - N c) = 1 + loss.
PauseCost pause_cost_of(double loss, double loss_error, double pauses_per_ns, Nanoseconds length_ns,
                        Nanoseconds counted_ns) {
  const auto counted = static_cast<double>(counted_ns);
  const double unseen_ns = loss / (1 + loss) / pauses_per_ns;
  const double most_ns =
      counted_ns > 0 ? kMostUnseen * counted : static_cast<double>(kDearestPause);
  const double cost_ns = std::clamp(counted + unseen_ns, counted, most_ns);
  const double error_ns = loss_error / (1 + loss) / pauses_per_ns;
  const double cut_off_ns = counted + unseen_ns - cost_ns;
  return {static_cast<Nanoseconds>(cost_ns),
          static_cast<Nanoseconds>(std::hypot(error_ns, cut_off_ns)), length_ns};
}

}  // namespace causalctl::causal
