// Tests what a run beside other programs is expected to yield.
#include "controller/causal/analysis/outlook.h"

#include <catch2/catch.hpp>

#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;

// Experiments last half a second, and `noise` is that of a period. Threads wait for cores that
// other programs have for two thirds of the time that they want to run.
Run beside_others(double noise, int experiments = 16) {
  Run run = synthetic_run({.units = {{"f", [](double speedup) { return 0.2 * speedup; }}},
                           .experiments = experiments,
                           .noise = noise});
  run.overhead.period_ns = kMillisecond;  // 100 samples in each baseline
  for (Experiment& each : run.experiments) {
    each.runnable_wait_ns = each.foreign_wait_ns = 200 * kMillisecond;
  }
  return run;
}

}  // namespace

TEST_CASE("a run that will know too little beside others says so, and what helps", "[causal]") {
  const auto told = outlook_of(beside_others(0.25), 15 * kSecond);
  REQUIRE(told);
  CHECK_THAT(*told, Contains("had the cores 67 % of the time") &&
                        Contains("when this run ends the effect of f made 50 % faster") &&
                        Contains("taskset") && Contains("(for ±10 points)"));
  const auto by_hand = outlook_of(beside_others(0.25), std::nullopt);
  REQUIRE(by_hand);
  CHECK_THAT(*by_hand, Contains("by now the effect of f"));
}

TEST_CASE("a run that will know enough, or has the cores to itself, is not told anything",
          "[causal]") {
  CHECK_FALSE(outlook_of(beside_others(0.02), 15 * kSecond));
  CHECK_FALSE(outlook_of(beside_others(0.25), 10'000 * kSecond));  // it is long enough
  Run alone = beside_others(0.25);
  for (Experiment& each : alone.experiments) each.foreign_wait_ns = 0;
  CHECK_FALSE(outlook_of(alone, 15 * kSecond));
}

TEST_CASE("where the model leaves too much open a longer run is not advised", "[causal]") {
  Run run = beside_others(0.02);
  for (Experiment& each : run.experiments) {
    if (each.speedup > 0) each.model_error_ns = each.effective_ns / 4;
  }
  const auto told = outlook_of(run, 10'000 * kSecond);
  REQUIRE(told);
  CHECK_THAT(*told, Contains("taskset") && !Contains("a longer run") && !Contains("a run of"));
}

TEST_CASE("a run without any effect so far says so", "[causal]") {
  const auto told = outlook_of(beside_others(0.02, 2), 15 * kSecond);
  REQUIRE(told);
  CHECK_THAT(*told, Contains("no effect can be told at all"));
}

}  // namespace causalctl::causal
