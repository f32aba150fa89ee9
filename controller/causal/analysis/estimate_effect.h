// Effects, slopes and curves of one unit at one progress point, with their errors. Pure.
//
// All are weighted sums of clean log ratios (estimate_noise.h), whose error follows from the noise
// of one experiment, the weights, the baselines that ratios share, and of what is not known of the
// cost of a pause; intervals are Student's.
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
  double error = 0;  // standard
  std::size_t freedom = 1;
};

// Covers the truth in all but `alpha` of the cases.
Interval interval_of(const Estimate& estimate, double alpha);

// Of the hypothesis that the truth is 0, two-sided.
double p_value_of(const Estimate& estimate);

// A factor in front of effects, with its own relative error.
struct Factor {
  double value = 1;
  double relative_error = 0;
};

// 1 - exp(mean of the log ratios); nullopt for none, or unknown noise.
std::optional<Interval> effect_of(std::span<const Clean> effects, const Noise& noise, double alpha,
                                  const Factor& factor = {});

// Effect per unit of speedup, by least squares through the origin; nullopt for fewer than
// kFewestForSlope.
std::optional<Estimate> slope_of(const CleanUnit& unit);

Estimate scaled(const Estimate& estimate, const Factor& factor);

// Effects at each speedup.
std::vector<report::CurvePoint> curve_of(const CleanUnit& unit, const Point& point, double alpha,
                                         const Factor& factor);

// Effects pooled around 25, 50 and 100 %, where there are at least kFewestForSlope.
std::vector<report::CurvePoint> summary_of(const CleanUnit& unit, const Point& point, double alpha,
                                           const Factor& factor);

}  // namespace causalctl::causal
