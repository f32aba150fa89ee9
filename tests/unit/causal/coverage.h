// What reports of synthetic profiles promise against what is true of them: how often intervals
// cover the truth, how often a unit without effect is called effective, whether bounds are bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "controller/report/causal/model.h"
#include "tests/unit/causal/profiles.h"

namespace causalctl::causal {

struct Rate {
  std::size_t hits = 0;
  std::size_t total = 0;
  void count(bool hit) {
    hits += hit ? 1 : 0;
    ++total;
  }
  double share() const {
    return total == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(total);
  }
};

struct Coverage {
  Rate slope, curve, summary, best, null_effect;  // intervals that cover the truth
  Rate false_alarm;  // profiles with a unit without effect called effective
  Rate wrong_sign;   // profiles with a unit called the opposite of what it is
  Rate bound;        // "no effect larger than X %" said, and true
  Rate none;         // units called without effect, and no effect is above kNoEffect
  Rate found;        // units with an effect of 5 % or more somewhere, and ten treatments: called so
  double width_sum = 0;                  // of slope intervals
  std::map<std::string, Rate> slope_by;  // by kind of profile and unit

  double mean_slope_width() const { return width_sum / static_cast<double>(slope.total); }
  void add(const Profile& profile, const report::Report& report);
  std::string table() const;
};

// The truth of what `report` says of a unit, given the speedups that were tried.
double true_slope(const Run& run, const TrueUnit& unit);

// [low, high] covers the number of hits in all but 0.1 % of the cases, if each has `chance`.
Rate binomial_bounds(std::size_t total, double chance);

}  // namespace causalctl::causal
