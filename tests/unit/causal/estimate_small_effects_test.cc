#include "controller/causal/analysis/estimate_small_effects.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using report::UnitResult;

UnitResult small_unit(const std::string& name, double high, double ceiling) {
  UnitResult result;
  result.unit = name;
  result.is_line = true;
  result.sample_share = 0.6;
  result.slope = Interval{0, -high, high};
  result.ceiling = ceiling;
  result.tested = {13, 12, 9, 150};
  return result;
}

report::ProgressResult point_of(std::vector<UnitResult> units) {
  report::ProgressResult point;
  point.name = "p";
  point.units = std::move(units);
  return point;
}

std::string said_of(std::vector<UnitResult> units) {
  return told_of(small_effects_of(point_of(std::move(units))), "p").text();
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
  const Bound bound = bound_of(small_unit("f", 0.05, 0.4));
  CHECK(bound.effect == 0.05);
  CHECK(bound.by_experiments);
  CHECK(said_of({small_unit("f", 0.05, 0.4)}) ==
        "p: no effect larger than 5.0 % is possible here, by making any of the 1 measured units "
        "faster (60 % of the samples)");
  UnitResult pooled = small_unit("f", 0.05, 0.4);
  pooled.summary = {{0.5, {0.01, -0.1, 0.12}, 9, 9}};
  CHECK(bound_of(pooled).effect == 0.12);
  CHECK(bound_of(small_unit("f", -0.1, 0.4)).effect == 0);  // it certainly does harm
}

TEST_CASE("what starts a thread bounds no effect, unless it is all there is", "[causal]") {
  UnitResult start = small_unit("crosscall_amd64", 0.77, 0.5);
  start.everybodys_caller = true;
  CHECK_THAT(said_of({start, small_unit("f", 0.05, 0.4)}),
             StartsWith("p: no effect larger than 5.0 %") && Contains("(60 % of the samples)"));
  CHECK_THAT(said_of({start}), Contains("the time of crosscall_amd64"));
}

TEST_CASE("an interval that reaches what the unit's own time allows for tells nothing",
          "[causal]") {
  CHECK(bound_of(small_unit("f", 0.27, 0.2)).effect == 0.2);
  CHECK_FALSE(bound_of(small_unit("f", 0.27, 0.2)).by_experiments);
  CHECK(
      said_of({small_unit("f", 0.27, 0.2)}) ==
      "p: the experiments tell nothing: all of the 20.0 % that the time of f (60 % of the samples) "
      "allows for is possible");
  // The gain is at most all of the time.
  CHECK_FALSE(bound_of(small_unit("f", 1.3, 1.6)).by_experiments);
  CHECK(bound_of(small_unit("f", 1.3, 1.6)).effect == 1);
}

TEST_CASE("what baselines may differ by bounds what is said of small effects", "[causal]") {
  report::ProgressResult point = point_of({small_unit("f", 0.05, 0.4)});
  const auto check = [&point](double low, double high) {
    const Interval null{0.01, low, high};
    const double end = std::max(-low, high);
    point.bearing.bounds = {{report::Reason::Kind::self_check, "p", end, 0, null}};
    return told_of(small_effects_of(point), "p").text();
  };
  CHECK_THAT(check(-0.03, 0.04), StartsWith("p: no effect larger than 5.0 %"));
  // An effect can hide in what the baselines differ by.
  CHECK(check(-0.03, 0.06) ==
        "p: the experiments tell nothing: without any speedup the experiments agree only to "
        "[-3.0, 6.0] % (p)");
  // What sampling costs hides none.
  point.bearing.bounds = {{report::Reason::Kind::sampling_cost, "", 0, 0.2, Interval{0.1, 0, 0.2}}};
  CHECK(small_effects_of(point).most == 0.05);
}

TEST_CASE("the unit that can have the largest effect decides", "[causal]") {
  UnitResult rare = small_unit("rare", 0.7, 0.03);
  CHECK_THAT(said_of({small_unit("f", 0.05, 0.4), rare}),
             StartsWith("p: no effect larger than 5.0 %") && Contains("the 2 measured units"));
  rare.ceiling = 0.06;
  CHECK_THAT(
      said_of({small_unit("f", 0.05, 0.4), rare}),
      StartsWith("p: the experiments tell nothing: all of the 6.0 % that the time of rare "));
  UnitResult untried = small_unit("h", 0.1, 0.4);
  untried.slope.reset();
  CHECK_THAT(said_of({small_unit("f", 0.05, 0.4), untried}), Contains("the 1 measured units"));
  CHECK_THAT(said_of({untried}), StartsWith("p: too few experiments to say anything"));
}

TEST_CASE("a unit that was hardly ever sampled while it was to be faster tells nothing",
          "[causal]") {
  UnitResult idle = small_unit("f", 0.05, 0.4);
  idle.is_line = false;
  idle.tested = {13, 3, 0, 4};
  CHECK_FALSE(bound_of(idle).by_experiments);
  CHECK(said_of({idle}) ==
        "p: the experiments tell nothing: f (60 % of the samples) was sampled in 3 of its 13 "
        "experiments with a speedup, 4 times in all");
  idle.ceiling.reset();  // of a latency
  CHECK(bound_of(idle).effect == 1);
}

}  // namespace causalctl::causal
