// Whole causal profiles with a known truth: results, not threads. The plan is the shipping one.
// What experiments measure is made up from curves and from the disturbances of real machines. Pure;
// the seed makes them repeatable. docs/estimator.md has the table that 1,000 of them give.
//
// log(period of experiment i) = drift(t_i) + log(1 - effect(s_i)) + noise_i + stall_i, where drift
// is a random walk, noise normal (so periods are lognormal), and a stall is rare and always longer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// effect(s) = slope · min(s, knee): zero, linear, saturating (figure 1 of the Coz paper), negative.
struct TrueCurve {
  double slope = 0;
  double knee = 1;
  double effect(double speedup) const { return slope * (speedup < knee ? speedup : knee); }
  double largest() const { return effect(1); }
};

struct TrueUnit {
  std::string name;
  TrueCurve curve;
  double share = 0;         // share of the samples while it is active
  bool phased = false;      // true if it is active in one of two alternating phases only
  double active_share = 1;  // share of the run's time
};

struct ProfileOptions {
  std::uint64_t seed = 1;
  // Otherwise it is drawn: most profiles contain every kind of curve.
  bool all_null = false;
  bool fixed_unit = false;
  std::size_t experiments = 0;    // drawn if 0
  bool heavy_treatments = false;  // pauses add noise, so that treatments scatter half as much again
};

struct Profile {
  Run run;
  std::vector<TrueUnit> units;
  // values that were drawn
  std::size_t experiments = 0;
  double noise = 0;   // relative noise of a period
  double visits = 0;  // of an experiment
  bool phased = false;
  bool fixed_unit = false;

  const TrueUnit& unit(const std::string& name) const;
};

// One profile in four has phases, and one in five has a fixed unit.
Profile synthetic_profile(const ProfileOptions& options);

// The same profile if it had ended after `count` experiments.
Run cut_off(const Run& run, std::size_t count);

}  // namespace causalctl::causal
