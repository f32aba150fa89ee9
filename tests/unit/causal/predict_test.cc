#include "controller/causal/analysis/predict.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/causal/analysis/estimate.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {

namespace {

Run profile(std::vector<double> speedups) {
  Synthetic options;
  options.units = {{"hot.c:1", [](double s) { return 0.4 * s; }}, {"cold.c:2"}};
  options.speedups = std::move(speedups);
  options.experiments = 200;
  options.noise = 0.01;
  return synthetic_run(options);
}

std::string refusal(const std::string& point, const std::string& unit, double speedup) {
  try {
    predicted_effect({profile({0.5})}, point, unit, speedup);
  } catch (const UsageError& error) {
    return error.what() + std::string("\n") + error.hint();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a prediction is from the experiments at its speedup", "[causal]") {
  const Run run = profile({0.25, 0.5, 1.0});
  const auto found = predicted_effect({run}, "work", "hot.c:1", 0.5);
  REQUIRE(found.effect.value == Approx(0.2).margin(0.01));
  // This is what the report shows at this speedup.
  const report::Report report = estimate({run});
  for (const auto& unit : report.progress.front().units) {
    if (unit.unit != "hot.c:1") continue;
    REQUIRE(unit.curve.size() == 3);
    REQUIRE(found.effect.value == Approx(unit.curve[1].effect.value).margin(0.001));
    REQUIRE(found.effect.low == Approx(unit.curve[1].effect.low).margin(0.002));
    REQUIRE(found.effect.high == Approx(unit.curve[1].effect.high).margin(0.002));
  }
  REQUIRE(found.lowest == 0.5);
  REQUIRE(found.highest == 0.5);
  REQUIRE(found.experiments >= 3);
}

TEST_CASE("where there are few at its speedup, neighbours help", "[causal]") {
  const auto found = predicted_effect({profile({0.45, 0.55, 1.0})}, "work", "hot.c:1", 0.5);
  REQUIRE(found.lowest == 0.45);
  REQUIRE(found.highest == 0.55);
  REQUIRE(found.effect.value == Approx(0.2).margin(0.02));
}

TEST_CASE("what a profile does not know is refused, with what it knows", "[causal]") {
  REQUIRE(says(refusal("walk", "hot.c:1", 0.5), "no progress point walk\nit has: work"));
  REQUIRE(says(refusal("work", "warm.c:3", 0.5), "no experiments with warm.c:3"));
  REQUIRE(says(refusal("work", "warm.c:3", 0.5), "hot.c:1"));
  REQUIRE(says(refusal("work", "hot.c:1", 0.9), "too few experiments with hot.c:1 near 90 %"));
}

}  // namespace causalctl::causal
