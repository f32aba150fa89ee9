// Chooses the next experiment (Coz section 3.2): a unit among those that ran lately, with the
// probability of its share of samples, and a random speedup. Baselines (speedup 0) and treatments
// come in blocks of random order, so that each treatment has a baseline near it in time, because a
// shared machine drifts between minutes by more than most effects. Pure, and repeatable by its
// seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "config/config.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct PlanOptions {
  std::vector<unsigned> speedups_percent;  // 0 means the baseline and is ignored
  double baseline_share = 0.5;
  std::optional<unsigned> fixed_speedup_percent;
  std::uint64_t seed = 1;
};

PlanOptions plan_options(const config::Experiment& experiment, std::uint64_t seed);

// Returns the share of baselines from now on. Where nothing is ever paused, because there is one
// thread, treatments are compared with their own real time (estimate_compare.h), and baselines are
// hardly needed once there are enough for the self-check. A latency is always compared with them.
// `threads` is the number of those that do not hardly run, and `wanted` the share that is asked
// for.
double baseline_share(const std::vector<Experiment>& experiments, std::size_t threads,
                      double wanted);

struct PlannedExperiment {
  UnitId unit = 0;
  double speedup = 0;
};

class Plan {
 public:
  explicit Plan(PlanOptions options);

  // `recent` has the units of the latest samples, one entry for each sample. Returns nullopt if it
  // is empty, because nothing ran.
  std::optional<PlannedExperiment> next(const std::vector<UnitId>& recent);
  void set_baseline_share(double share) { options_.baseline_share = share; }  // of later blocks

 private:
  void fill_block(const std::vector<UnitId>& recent);
  double random_speedup();

  PlanOptions options_;
  std::vector<unsigned> treatments_percent_;
  std::mt19937_64 random_;
  std::vector<PlannedExperiment> block_;  // the rest of the current block; the next one is last
};

}  // namespace causalctl::causal
