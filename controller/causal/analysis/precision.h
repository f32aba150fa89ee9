// How well a run knows effects, and how long a run would have to be to know them better. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/report/causal/model.h"

namespace causalctl::causal {

// Half widths of 95 % intervals: of the effect of the hottest measured unit at kToldSpeedup, and
// of baselines against baselines. More experiments make only `by_chance` and `null_by_chance`
// smaller, as the root of their number.
struct Precision {
  std::string unit;
  double by_chance = 0;
  double by_model = 0;
  double null_by_chance = 0;
  double null_value = 0;  // how far baselines certainly differ

  // Returns the error after a run that is `times` as long.
  double after(double times) const;
  // Returns how many times as long a run must be for an error of `wanted`; nullopt if none is long
  // enough.
  std::optional<double> times_for(double wanted) const;
};

// Returns nullopt if no unit was measured.
std::optional<Precision> precision_of(const report::ProgressResult& point);

}  // namespace causalctl::causal
