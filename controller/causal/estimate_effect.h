// What a virtual speedup did to a progress point: experiments against their baselines. Pure.
//
// Every treatment (speedup > 0) is compared with the nearest baselines before and after it in the
// same run, because on a shared machine the drift between minutes is larger than the effects
// (docs/virtual-time.md, "Estimating"). The comparison is a ratio of progress periods in
// logarithms, so that twice as slow and twice as fast weigh the same and no average of ratios is
// biased.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/causal/experiment.h"
#include "controller/report/model.h"

namespace causalctl::causal {

struct Point {
  std::string name;
  bool latency = false;
};

struct Effect {
  const Experiment* experiment = nullptr;
  std::array<const Experiment*, 2> baselines = {};  // before, after; one may be null
  double log_ratio = 0;                             // log(period / mean period of the baselines)
};

struct PointEffects {
  std::vector<Effect> treatments;  // in time order within each run
  std::vector<Effect> nulls;       // baselines against their neighbouring baselines
};

// Time per visit, in virtual seconds (latency: time from begin to end); nullopt: no data.
std::optional<double> period_s(const Experiment& experiment, const Point& point);

std::uint64_t visits_of(const Experiment& experiment, const Point& point);  // latency: ends

PointEffects compare(const std::vector<Run>& runs, const Point& point);

// 1 - exp(trimmed mean of log ratios) and its interval; nullopt for fewer than three.
std::optional<report::Interval> effect_of(std::span<const Effect> effects);

// Effect per unit of speedup, through the origin; nullopt for fewer than three.
std::optional<report::Interval> slope_of(std::span<const Effect> effects);

// Effects at each speedup. REQUIRES: slope is slope_of(effects).
std::vector<report::CurvePoint> curve_of(std::span<const Effect> effects, double slope,
                                         const Point& point);

// Effects pooled around 25, 50 and 100 %, where there are at least three.
std::vector<report::CurvePoint> summary_of(std::span<const Effect> effects, const Point& point);

}  // namespace causalctl::causal
