// Compares what reports of synthetic profiles promise with the truth: how often intervals cover it,
// how often a unit without effect is said to have one, and whether bounds are bounds.
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
  Rate slope, curve, summary, best, null_effect;  // how many intervals cover the truth
  Rate false_alarm;  // profiles in which a unit without effect is said to have one
  Rate wrong_sign;   // profiles in which a unit is said to have the opposite effect
  Rate bound;        // how often "no effect larger than X %" is said and true
  Rate none;         // units said to have no effect, of which no effect is above kNoEffect
  // Units said to have an effect, of those with ten treatments and an effect of 5 % or more.
  Rate found;
  double width_sum = 0;                  // of slope intervals
  std::map<std::string, Rate> slope_by;  // by kind of profile and unit

  double mean_slope_width() const { return width_sum / static_cast<double>(slope.total); }
  void add(const Profile& profile, const report::Report& report);
  std::string table() const;
};

// Compares what `report` says of a unit with the truth, given the speedups that were tried.
double true_slope(const Run& run, const TrueUnit& unit);

// If each has `chance`, [low, high] covers the number of hits in all but 0.1 % of the cases.
Rate binomial_bounds(std::size_t total, double chance);

}  // namespace causalctl::causal
