// Tests whether progress has its own pace, judged by its rate in a uniform pause, and what follows
// for effects.
#include "controller/causal/analysis/pacing.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/estimate_compare.h"

namespace causalctl::causal {
namespace {

// Ten pairs scatter by `noise`, half of them up and half down.
std::optional<Pacing> measured(double rate, double noise = 0.02) {
  std::vector<PacePair> pairs;
  for (int i = 0; i < 10; ++i) {
    const double factor = i % 2 == 0 ? 1 + noise : 1 - noise;
    pairs.push_back({1000, 1000 * rate * factor, 0.2});
  }
  return pacing_of("request", pairs);
}

// A unit that takes half of the time is sped up by 50 %, so virtual time passes a quarter more
// slowly, while requests come every 2 ms of real time.
Run paced_run() {
  Run run;
  run.ended = true;
  for (int i = 0; i < 40; ++i) {
    Experiment experiment;
    experiment.unit.name = "answer";
    experiment.speedup = i % 2 == 0 ? 0 : 0.5;
    experiment.start_ns = i * kSecond;
    experiment.samples = 250;
    experiment.wall_ns = 500 * kMillisecond;
    experiment.delay_ns = i % 2 == 0 ? 0 : 125 * kMillisecond;
    experiment.effective_ns = experiment.wall_ns - experiment.delay_ns;
    experiment.throughput = {{"request", 250, 0, experiment.effective_ns * 249 / 250}};
    // In real time this does not matter: nothing is unknown.
    experiment.model_error_ns = 5 * kMillisecond;
    run.experiments.push_back(experiment);
  }
  return run;
}

report::UnitResult result_of_run(const Run& run) {
  return estimate({run}).progress.at(0).units.at(0);
}

}  // namespace

TEST_CASE("a rate that a uniform pause does not change is its own", "[causal][pacing]") {
  const auto own = measured(1);
  REQUIRE(own);
  CHECK(own->point == "request");
  CHECK(own->paused_share == Approx(0.2));
  CHECK(own->rate == Approx(1).margin(0.001));
  CHECK(own->low < 1);
  CHECK(own->high > 1);
  CHECK(pace_of(*own) == Pace::own);
  CHECK(pace_of(*measured(0.8)) == Pace::of_program);
  // A part of the program's work is hidden behind that of its clients.
  CHECK(pace_of(*measured(0.85)) == Pace::of_program);
  CHECK(pace_of(*measured(0.95, 0.15)) == Pace::unknown);
}

TEST_CASE("where threads queue for cores their other waits tell whose the pace is",
          "[causal][pacing]") {
  // Threads wait for half of the time, and for less when paused; the rate falls little in all
  // pairs.
  const auto queued = [](double less, double noise = 0.01) {
    std::vector<PacePair> pairs;
    for (int i = 0; i < 10; ++i) {
      pairs.push_back({1000, 980, 0.2, 0.5, 0.5 * 0.98 - less + (i % 2 == 0 ? noise : -noise)});
    }
    return *pacing_of("request", pairs, true);
  };
  CHECK(queued(0.2).absorbed == Approx(1));
  CHECK(pace_of(queued(0.2)) == Pace::own);
  CHECK(pace_of(queued(0.01)) == Pace::of_program);
  CHECK(pace_of(queued(0.11, 0.05)) == Pace::unknown);
  Run run;
  run.pacing = {queued(0.2)};
  CHECK(unfelt_of(run, "request").share == 1);
  CHECK(unfelt_of(run, "request").error == 0);
  run.pacing = {queued(0.01)};
  CHECK(unfelt_of(run, "request").share == 0);
  // It is unknown, so the interval covers both that nothing is felt and that all is felt.
  run.pacing = {queued(0.11, 0.05)};
  const auto described = described_pacing({run}, "request");
  REQUIRE(described);
  REQUIRE(described->absorbed);  // the reader sees what decided
  CHECK(described->absorbed->low < 0.5);
  CHECK(described->absorbed->high > 0.5);
  const Unfelt unknown = unfelt_of(run, "request");
  CHECK(unknown.share == 0.5);
  CHECK(unknown.share + 1.97 * unknown.error >= 1);
  CHECK(unknown.share - 1.97 * unknown.error <= 0);
}

TEST_CASE("what says nothing of a pace", "[causal][pacing]") {
  CHECK_FALSE(pacing_of("request", {{1000, 800, 0.2}, {1000, 800, 0.2}}));
  CHECK_FALSE(pacing_of("request", {{1000, 800, 0.2}, {1000, 0, 0.2}, {1000, 800, 0.2}}));
  CHECK_FALSE(pacing_of("request", {{1000, 800, 0}, {1000, 900, 0}, {1000, 800, 0}}));
  CHECK_FALSE(pacing_of("request", {{1e9, 1, 0.2}, {1, 1e9, 0.2}, {1e9, 1e-300, 0.2}}));
  CHECK(pace_of({"request", 0, 1, 1, 1}) == Pace::unknown);
  CHECK(pace_of({"request", 1, 1, 1, 1}) == Pace::unknown);
}

TEST_CASE("only where all points come at their own pace is that true of the run",
          "[causal][pacing]") {
  Run run;
  CHECK_FALSE(all_at_own_pace(run));
  run.pacing = {*measured(1)};
  CHECK(all_at_own_pace(run));
  run.pacing.push_back(*measured(0.8));
  CHECK_FALSE(all_at_own_pace(run));
}

TEST_CASE("what a point does not feel of the time that the program stands still",
          "[causal][pacing]") {
  Run run;
  CHECK(unfelt_of(run, "request").share == 0);
  run.pacing = {*measured(0.8)};
  CHECK(unfelt_of(run, "request").share == 0);
  run.pacing = {*measured(1)};
  CHECK(unfelt_of(run, "request").share == 1);
  CHECK(unfelt_of(run, "request").error == 0);
  CHECK(unfelt_of(run, "batch").share == 0);
  // Certainly most of the pace is its own, and certainly not all.
  run.pacing = {*measured(std::pow(0.8, 0.25), 0.005)};
  CHECK(unfelt_of(run, "request").share == Approx(0.75).margin(0.01));
  CHECK(unfelt_of(run, "request").error > 0);
  CHECK(unfelt_of(run, "request").error < 0.02);
  // It is unknown, so the interval covers that all may be unfelt.
  run.pacing = {*measured(0.95, 0.15)};
  const Unfelt unknown = unfelt_of(run, "request");
  CHECK(unknown.share + 1.97 * unknown.error >= 1);
}

TEST_CASE("code that gets faster does not make requests come more often", "[causal][pacing]") {
  Run run = paced_run();
  CHECK(result_of_run(run).slope->value == Approx(0.5).margin(0.01));  // of virtual time
  run.pacing = {*measured(1)};
  const auto unit = result_of_run(run);
  CHECK(unit.slope->value == Approx(0).margin(0.001));
  CHECK(unit.slope->high < 0.01);
  CHECK(unit.verdict == report::Verdict::no_effect);
  const auto report = estimate({run});
  REQUIRE(report.progress[0].pacing);
  CHECK(report.progress[0].pacing->pace == report::Pace::own);
}

TEST_CASE("where the pace is not known the interval covers both", "[causal][pacing]") {
  Run run = paced_run();
  run.pacing = {*measured(0.9, 0.15)};
  REQUIRE(pace_of(run.pacing[0]) == Pace::unknown);
  const auto unit = result_of_run(run);
  CHECK(unit.slope->low < 0.01);
  CHECK(unit.slope->high > 0.3);
  CHECK(unit.verdict == report::Verdict::not_enough_data);
}

// Found on a machine whose cores were busy: "worth optimising", 27 % ± 0.8, for nothing.
TEST_CASE("where the pace could not be tested the interval covers both", "[causal][pacing]") {
  Run run = paced_run();
  run.pacing = {untested("request")};
  CHECK(pace_of(run.pacing[0]) == Pace::unknown);
  CHECK_FALSE(all_at_own_pace(run));
  const auto result = result_of_run(run);
  CHECK(result.verdict == report::Verdict::not_enough_data);
  REQUIRE_FALSE(result.curve.empty());
  CHECK(result.curve.front().effect.low <= 0);
  CHECK(result.curve.front().effect.high >= 0.24);
}

TEST_CASE("a stop by a quota is no time of which it is unknown whether it was felt", "[causal]") {
  Experiment e;
  e.effective_ns = 500 * kMillisecond;
  e.delay_ns = 250 * kMillisecond;
  e.wall_ns = 1250 * kMillisecond;
  Effect effect;
  effect.experiment = &e;
  effect.unfelt.error = 0.1;
  const double weight = 1;
  CHECK(systematic_error({&effect, 1}, {&weight, 1}) == Approx(0.1 * std::log(1.5)));
}

}  // namespace causalctl::causal
