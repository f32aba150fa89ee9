// Which experiment comes next (Coz section 3.2): a unit among those that ran lately, with the
// probability of its share of samples, and a random speedup. Baselines (speedup 0) and treatments
// come in blocks of random order, so that each treatment has a baseline near it in time: the drift
// of a shared machine between minutes is larger than most effects. Pure, repeatable by its seed.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "config/config.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct PlanOptions {
  std::vector<unsigned> speedups_percent;  // 0 among them stands for the baseline and is ignored
  double baseline_share = 0.5;
  std::optional<unsigned> fixed_speedup_percent;
  std::uint64_t seed = 1;
};

PlanOptions plan_options(const config::Experiment& experiment, std::uint64_t seed);

struct PlannedExperiment {
  UnitId unit = 0;
  double speedup = 0;
};

class Plan {
 public:
  explicit Plan(PlanOptions options);

  // `recent`: the units of the latest samples, one entry a sample. Empty: nullopt, nothing ran.
  std::optional<PlannedExperiment> next(const std::vector<UnitId>& recent);

 private:
  void fill_block(const std::vector<UnitId>& recent);
  double random_speedup();

  PlanOptions options_;
  std::vector<unsigned> treatments_percent_;
  std::mt19937_64 random_;
  std::vector<PlannedExperiment> block_;  // what is left of it, next at the back
};

}  // namespace causalctl::causal
