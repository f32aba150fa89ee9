// Runs with a known truth, for tests of what is made of them.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct SyntheticUnit {
  std::string name;
  // Maps a speedup to the fraction by which the period falls.
  std::function<double(double)> effect = [](double) { return 0.0; };
};

struct Synthetic {
  std::vector<SyntheticUnit> units;
  std::vector<double> speedups = {0.25, 0.5, 1.0};
  int experiments = 100;
  double noise = 0.02;  // relative noise of a period
  // Maps a share of the time to a factor.
  std::function<double(double)> drift = [](double) { return 1.0; };
  std::uint64_t seed = 1;
  double period_ns = 1e6;
};

inline Run synthetic_run(const Synthetic& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  Run run;
  run.id = "r" + std::to_string(options.seed);
  run.executable = "/bin/program";
  run.ended = true;
  run.reason = EndReason::duration;
  run.digest = DigestResult::same;
  for (const SyntheticUnit& unit : options.units) {
    run.samples.push_back({{unit.name, true, "", "", 0}, 0});
  }
  Nanoseconds now = 0;
  for (int i = 0; i < options.experiments; ++i) {
    const std::size_t which = random() % options.units.size();
    Experiment e;
    e.unit = {options.units[which].name, true, "", "", 0};
    e.speedup = random() % 2 == 0 ? 0 : options.speedups[random() % options.speedups.size()];
    const double period_ns = options.period_ns * (1 - options.units[which].effect(e.speedup)) *
                             (1 + options.noise * normal(random)) *
                             options.drift(double(i) / options.experiments);
    e.start_ns = now;
    e.effective_ns = 500 * kMillisecond;
    e.delay_ns = static_cast<Nanoseconds>(e.speedup * 50 * kMillisecond);
    e.wall_ns = e.effective_ns + e.delay_ns;
    e.asked_ns = e.paid_ns = e.delay_ns;
    e.samples = 100;
    const auto visits = static_cast<std::uint64_t>(double(e.effective_ns) / period_ns);
    const auto last_ns = 1000 + static_cast<Nanoseconds>(period_ns * double(visits - 1));
    e.throughput.push_back({"work", visits, 1000, last_ns});
    now += e.wall_ns;
    run.samples[which].count += e.samples;
    run.experiments.push_back(std::move(e));
  }
  // There are no phases: every unit is sampled all the time, also in experiments of the others.
  run.wall_ns = now;
  const auto baselines = std::count_if(run.experiments.begin(), run.experiments.end(),
                                       [](const Experiment& e) { return e.speedup == 0; });
  for (UnitSamples& samples : run.samples) {
    samples.count = 100 * options.experiments;
    samples.baseline_count = 100 * static_cast<std::uint64_t>(baselines);
  }
  run.losses.samples_total = 100 * options.experiments * options.units.size();
  run.overhead.period_ns = 5 * kMillisecond;  // one thread for each unit, which is always in it
  return run;
}

}  // namespace causalctl::causal
