// One phase of a calibration, in the script of engine_scene.h.
#include "controller/causal/experiments/phases.h"

#include <catch2/catch.hpp>

#include "tests/unit/causal/engine_scene.h"

namespace causalctl::causal {
namespace {

using test::kFast;
using test::kMs;
using test::Scene;

struct PlainPhase : Scene {
  PlainPhase() : Scene(0) {
    engine.end();
    for (int i = 0; i < 100; ++i) visit(kFast, 5 + 10 * i);
  }
  std::optional<double> period() { return plain_period({engine, parts, never}, kSecond); }

  EngineParts parts{clock, source, pauser, attribution, counters, {}, 0,
                    {},    {},     2,      {},          armory,   {}, {}};
  std::function<bool()> never = [] { return false; };
};

}  // namespace

TEST_CASE("a calibration's phase draws sampling periods anew", "[causal][calibrate]") {
  PlainPhase phase;
  const int before = phase.source.redrawn;
  const auto period_ns = phase.period();
  REQUIRE(period_ns);
  CHECK(*period_ns == Approx(10.0 * kMs));
  CHECK(phase.source.redrawn - before == 3);  // in 150 ms, after 50 each
}

TEST_CASE("a calibration's phase says nothing if the controller was late", "[causal][calibrate]") {
  PlainPhase phase;
  phase.clock.late_ns = 60 * kMs;
  CHECK_FALSE(phase.period());
  CHECK(phase.period());  // the next one
}

TEST_CASE("pairs of which one phase says nothing do not count", "[causal][calibrate]") {
  PlainPhase phase;
  int phases = 0;
  const Pairs pairs = alternate({phase.engine, phase.parts, phase.never}, kSecond,
                                [&](bool /*on*/) -> std::optional<double> {
                                  phase.clock.now_ns += 100 * kMs;
                                  return ++phases % 4 == 0 ? std::nullopt : std::optional(1.0);
                                });
  CHECK(phases == 10);
  CHECK(pairs.size() == 3);
}

}  // namespace causalctl::causal
