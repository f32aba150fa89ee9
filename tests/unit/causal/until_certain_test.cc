// Tests when --until-certain ends a run.
#include "controller/causal/analysis/until_certain.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/causal/analysis/estimate.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

constexpr double kLevel = 0.01;

bool is_decided(const Run& run, const std::string& only_unit = "") {
  return decided(estimate({run}, kLevel), estimate({run}), only_unit);
}

Run precise_run() {
  return synthetic_run({.units = {{"a", [](double speedup) { return 0.15 * speedup; }}},
                        .experiments = 400,
                        .noise = 0.01});
}

TEST_CASE("interim analyses grow rarer and stricter", "[causal]") {
  InterimAnalyses analyses;
  std::vector<std::size_t> at;
  double levels = 0;
  for (std::size_t experiments = 1; experiments <= 200; ++experiments) {
    if (!analyses.due(experiments)) continue;
    at.push_back(experiments);
    levels += analyses.level();
  }
  CHECK(at == std::vector<std::size_t>{40, 50, 63, 79, 99, 124, 155, 194});
  CHECK(levels < kErrorOfAnalyses);
}

TEST_CASE("certain is a verdict with a precise effect, or certainly none", "[causal]") {
  CHECK(is_decided(precise_run()));
  CHECK(is_decided(synthetic_run({.units = {{"a"}}, .experiments = 400, .noise = 0.01})));
  CHECK_FALSE(is_decided(synthetic_run({.units = {{"a"}}, .experiments = 40, .noise = 0.2})));
  CHECK_FALSE(is_decided(Run{}));
}

// More experiments do not make it smaller, and the levels of analyses decrease.
TEST_CASE("what the model leaves open does not keep a run from ending", "[causal]") {
  Run run = synthetic_run({.units = {{"a"}}, .experiments = 400, .noise = 0.01});
  for (Experiment& each : run.experiments) each.model_error_ns = each.effective_ns / 100;
  InterimAnalyses analyses;
  for (std::size_t experiments = 1; experiments <= 400; ++experiments) analyses.due(experiments);
  CHECK(enough(run, analyses, ""));
}

TEST_CASE("a hot unit that was not measured is waited for, unless another one is fixed",
          "[causal]") {
  Run run = precise_run();
  run.samples.push_back({{"b", true, "", "", 0}, 40'000});
  CHECK_FALSE(is_decided(run));
  CHECK(is_decided(run, "a"));
  CHECK_FALSE(is_decided(run, "b"));
  // The user's choice counts, whatever the share of the unit.
  run.samples[0].count = 10;
  run.losses.samples_total = 40'010;
  CHECK(is_decided(run, "a"));
}

TEST_CASE("a point that is never visited is not waited for", "[causal]") {
  Run run = precise_run();
  for (Experiment& experiment : run.experiments) experiment.throughput.push_back({"never"});
  CHECK(is_decided(run));
  for (Experiment& experiment : run.experiments) {
    std::erase_if(experiment.throughput, [](const auto& count) { return count.name == "work"; });
  }
  CHECK_FALSE(is_decided(run));
}

}  // namespace
}  // namespace causalctl::causal
