#include "controller/causal/analysis/estimate_small_effects.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using report::UnitResult;
using report::Verdict;

UnitResult unit(const std::string& name, double high, double ceiling) {
  UnitResult result;
  result.unit = name;
  result.is_line = true;
  result.sample_share = 0.6;
  result.slope = Interval{0, -high, high};
  result.ceiling = ceiling;
  result.tested = {13, 12, 9, 150};
  return result;
}

std::string said_of(std::vector<UnitResult> units, Nanoseconds period_ns = kMillisecond) {
  report::ProgressResult point;
  point.name = "p";
  point.units = std::move(units);
  const auto warning = statement_of_small_effects(point, period_ns);
  return warning ? warning->text() : "";
}

}  // namespace

TEST_CASE("a unit was sped up if most of its experiments met it, and often enough", "[causal]") {
  CHECK(was_sped_up({13, 12, 0, 150}));
  CHECK(was_sped_up({4, 2, 0, 10}));
  CHECK_FALSE(was_sped_up({4, 2, 0, 9}));
  CHECK_FALSE(was_sped_up({5, 2, 0, 150}));
  CHECK_FALSE(was_sped_up({}));
}

TEST_CASE("what experiments leave open is a finding where samples alone do not say it",
          "[causal]") {
  const Bound bound = bound_of(unit("f", 0.05, 0.4));
  CHECK(bound.effect == 0.05);
  CHECK(bound.by_experiments);
  CHECK(said_of({unit("f", 0.05, 0.4)}) ==
        "p: no effect larger than 5.0 % is possible here, by making any of the 1 measured units "
        "faster (60 % of the samples)");
  UnitResult pooled = unit("f", 0.05, 0.4);
  pooled.summary = {{0.5, {0.01, -0.1, 0.12}, 9, 9}};
  CHECK(bound_of(pooled).effect == 0.12);
  CHECK(bound_of(unit("f", -0.1, 0.4)).effect == 0);  // it certainly does harm
}

TEST_CASE("what starts a thread bounds no effect, unless it is all there is", "[causal]") {
  UnitResult start = unit("crosscall_amd64", 0.77, 0.5);
  start.everybodys_caller = true;
  CHECK_THAT(said_of({start, unit("f", 0.05, 0.4)}),
             StartsWith("p: no effect larger than 5.0 %") && Contains("(60 % of the samples)"));
  CHECK_THAT(said_of({start}), Contains("of crosscall_amd64"));
}

TEST_CASE("an interval that reaches what the unit's own time allows for tells nothing",
          "[causal]") {
  CHECK(bound_of(unit("f", 0.27, 0.2)).effect == 0.2);
  CHECK_FALSE(bound_of(unit("f", 0.27, 0.2)).by_experiments);
  CHECK(said_of({unit("f", 0.27, 0.2)}) ==
        "p: the experiments tell nothing: of f (60 % of the samples) they leave open all of the "
        "20.0 % that its own time allows for; profile for longer (--duration), under more load or "
        "by function (--unit function)");
  // The gain is at most all of the time.
  CHECK_FALSE(bound_of(unit("f", 1.3, 1.6)).by_experiments);
  CHECK(bound_of(unit("f", 1.3, 1.6)).effect == 1);
}

TEST_CASE("baselines that agree less well than a bound is small cannot bear it", "[causal]") {
  report::ProgressResult point;
  point.name = "p";
  point.units = {unit("f", 0.05, 0.4)};
  point.null_effect = Interval{0.01, -0.03, 0.06};
  CHECK_THAT(statement_of_small_effects(point, kMillisecond)->text(),
             StartsWith("p: no effect larger"));
  point.null_effect = Interval{0.01, -0.06, 0.06};
  CHECK_THAT(statement_of_small_effects(point, kMillisecond)->text(),
             StartsWith("p: the experiments tell nothing: without any speedup they agree only to "
                        "±6.0 points; profile for longer (--duration)"));
}

TEST_CASE("the unit that can have the largest effect decides", "[causal]") {
  UnitResult rare = unit("rare", 0.7, 0.03);
  CHECK_THAT(said_of({unit("f", 0.05, 0.4), rare}),
             StartsWith("p: no effect larger than 5.0 %") && Contains("the 2 measured units"));
  rare.ceiling = 0.06;
  CHECK_THAT(said_of({unit("f", 0.05, 0.4), rare}),
             StartsWith("p: the experiments tell nothing: of rare "));
  UnitResult found = unit("g", 0.3, 0.4);
  found.verdict = Verdict::optimise;
  CHECK(said_of({unit("f", 0.27, 0.2), found}).empty());
  UnitResult untried = unit("h", 0.1, 0.4);
  untried.slope.reset();
  CHECK_THAT(said_of({unit("f", 0.05, 0.4), untried}), Contains("the 1 measured units"));
  CHECK_THAT(said_of({untried}), StartsWith("p: too few experiments to say anything"));
}

TEST_CASE("a unit that was hardly ever sampled while it was to be faster tells nothing",
          "[causal]") {
  UnitResult idle = unit("f", 0.05, 0.4);
  idle.is_line = false;
  idle.tested = {13, 3, 0, 4};
  CHECK_FALSE(bound_of(idle).by_experiments);
  CHECK(said_of({idle}, 10 * kMillisecond) ==
        "p: the experiments tell nothing: f (60 % of the samples) was sampled in 3 of its 13 "
        "experiments with a speedup, 4 times in all; profile for longer (--duration), under more "
        "load or with more samples (--period 1ms)");
  idle.ceiling.reset();  // of a latency
  CHECK(bound_of(idle).effect == 1);
}

}  // namespace causalctl::causal
