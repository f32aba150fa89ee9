// Runs on a machine that drifts and stalls, with a known effect.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "controller/compare/comparison.h"
#include "controller/compare/schedule.h"

namespace causalctl::compare::test {

struct Machine {
  double noise = 0.02;        // standard deviation of log time in each run
  double stall_chance = 0.1;  // for each run
  double stall = 0.15;        // mean slowdown of a stalled run (exponential), in logarithms
  double drift = 0.002;       // of log time, per run
};

inline const Metric kTime{"time", report::MetricKind::wall};

// B needs exp(log_ratio) times what A needs.
inline std::vector<RunResult> simulate(std::mt19937_64& random, std::size_t blocks,
                                       double log_ratio, const Machine& machine = {},
                                       Phase phase = Phase::pairs) {
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform;
  Schedule schedule(random());
  std::vector<RunResult> runs;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const ScheduledRun& scheduled : schedule.next(phase)) {
      double log = machine.drift * static_cast<double>(runs.size());
      log += machine.noise * normal(random);
      if (uniform(random) < machine.stall_chance) log += machine.stall * exponential(random);
      if (scheduled.side() == Side::b) log += log_ratio;
      const auto start_ns = static_cast<Nanoseconds>(runs.size()) * kSecond;
      runs.push_back({scheduled, start_ns, {{kTime, std::exp(log)}}});
    }
  }
  return runs;
}

// Returns the blocks of such a comparison: the logarithm of B's time over A's in each.
inline std::vector<double> simulated_ratios(std::mt19937_64& random, std::size_t blocks,
                                            double log_ratio, const Machine& machine) {
  return log_ratios(simulate(random, blocks, log_ratio, machine), kTime, Phase::pairs);
}

inline constexpr int kExperiments = 1000;  // number in which a share is counted

}  // namespace causalctl::compare::test
