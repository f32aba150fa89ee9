// Estimates effects, slopes and curves of one unit at one progress point, with their errors. Pure.
//
// All of them are weighted sums of clean log ratios (estimate_noise.h). Their error follows from
// the noise of one experiment, the weights, the baselines that several ratios share, and the error
// of the cost of a pause. Intervals are Student's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "controller/causal/analysis/estimate_noise.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr std::size_t kFewestForSlope = 3;  // treatments

struct Estimate {
  double value = 0;
  double error = 0;  // standard error
  std::size_t freedom = 1;
  double systematic = 0;  // the part of the error that more experiments do not make smaller
};

// Returns an interval that covers the truth in all but `alpha` of the cases.
Interval interval_of(const Estimate& estimate, double alpha);

// Returns the two-sided p-value of the hypothesis that the truth is 0.
double p_value_of(const Estimate& estimate);

// A factor by which effects are multiplied, with its own relative error.
struct Factor {
  double value = 1;
  double relative_error = 0;
};

// Returns 1 - exp(mean of the log ratios), or nullopt if there are none or their noise is not
// known.
std::optional<Interval> effect_of(std::span<const Clean> effects, const Noise& noise, double alpha,
                                  const Factor& factor = {});

// Returns the effect per unit of speedup, by least squares through the origin, or nullopt if the
// unit has fewer than kFewestForSlope treatments.
std::optional<Estimate> slope_of(const CleanUnit& unit);

Estimate scaled(const Estimate& estimate, const Factor& factor);

// Returns the effect at each speedup.
std::vector<report::CurvePoint> curve_of(const CleanUnit& unit, const Point& point, double alpha,
                                         const Factor& factor);

// Returns the effects of the pools around 25, 50 and 100 % that have at least kFewestForSlope
// treatments.
std::vector<report::CurvePoint> summary_of(const CleanUnit& unit, const Point& point, double alpha,
                                           const Factor& factor);

}  // namespace causalctl::causal
