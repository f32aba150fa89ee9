#include "controller/causal/experiments/plan.h"

#include <catch2/catch.hpp>
#include <map>

namespace causalctl::causal {
namespace {

PlanOptions options() {
  PlanOptions options;
  for (unsigned percent = 0; percent <= 100; percent += 5) {
    options.speedups_percent.push_back(percent);
  }
  options.seed = 7;
  return options;
}

TEST_CASE("half of the experiments are baselines, one in each pair", "[causal][plan]") {
  Plan plan(options());
  for (int pair = 0; pair < 200; ++pair) {
    const auto first = plan.next({3, 4, 4});
    const auto second = plan.next({3, 4, 4});
    REQUIRE(first);
    REQUIRE(second);
    CHECK((first->speedup == 0) != (second->speedup == 0));
    CHECK(first->unit == second->unit);
  }
}

TEST_CASE("both orders within a pair occur equally often", "[causal][plan]") {
  Plan plan(options());
  int baseline_first = 0;
  for (int pair = 0; pair < 1000; ++pair) {
    if (plan.next({1})->speedup == 0) ++baseline_first;
    (void)plan.next({1});
  }
  CHECK(baseline_first > 430);  // binomial(1000, 1/2): 4.4 standard deviations
  CHECK(baseline_first < 570);
}

TEST_CASE("few baselines are needed where one thread is never paused", "[causal][plan]") {
  std::vector<Experiment> experiments;
  for (int i = 0; i < 16; ++i) {
    experiments.emplace_back();
    experiments.back().speedup = i % 2 == 0 ? 0 : 0.5;
  }
  CHECK(baseline_share(experiments, 1, 0.5) == 0.2);
  CHECK(baseline_share(experiments, 1, 0.1) == 0.1);
  SECTION("there is another thread") { CHECK(baseline_share(experiments, 2, 0.5) == 0.5); }
  SECTION("one was paused") {
    experiments[3].pauses = 1;
    CHECK(baseline_share(experiments, 1, 0.5) == 0.5);
  }
  SECTION("a latency is measured") {
    for (Experiment& each : experiments) each.latency = {{"answer", 9, 9}};
    CHECK(baseline_share(experiments, 1, 0.5) == 0.5);
  }
  SECTION("there are too few for the self-check") {
    experiments[2].discarded = "records were lost";
    CHECK(baseline_share(experiments, 1, 0.5) == 0.5);
  }
}

TEST_CASE("fewer baselines, from the next block on", "[causal][plan]") {
  Plan plan(options());
  (void)plan.next({1});
  plan.set_baseline_share(0.2);
  (void)plan.next({1});
  for (int block = 0; block < 100; ++block) {
    int baselines = 0;
    for (int i = 0; i < 5; ++i) baselines += plan.next({1})->speedup == 0 ? 1 : 0;
    CHECK(baselines == 1);
  }
}

TEST_CASE("units are drawn by their share of samples, speedups evenly", "[causal][plan]") {
  Plan plan(options());
  std::map<UnitId, int> units;
  std::map<int, int> speedups;
  for (int i = 0; i < 8000; ++i) {
    const auto planned = plan.next({1, 2, 2, 2});
    if (planned->speedup == 0) continue;
    ++units[planned->unit];
    ++speedups[static_cast<int>(planned->speedup * 100 + 0.5)];
  }
  CHECK(units[2] > 2.5 * units[1]);
  CHECK(units[2] < 3.5 * units[1]);
  CHECK(speedups.size() == 20);
  for (const auto& [percent, count] : speedups) CHECK(count > 130);  // 200 expected, sd 14
}

TEST_CASE("the plan is repeatable by its seed", "[causal][plan]") {
  Plan one(options());
  Plan two(options());
  for (int i = 0; i < 50; ++i) {
    const auto a = one.next({1, 2, 3});
    const auto b = two.next({1, 2, 3});
    CHECK(a->unit == b->unit);
    CHECK(a->speedup == b->speedup);
  }
}

TEST_CASE("a fixed speedup is always set against its baseline; nothing ran: no plan",
          "[causal][plan]") {
  PlanOptions fixed = options();
  fixed.fixed_speedup_percent = 40;
  Plan plan(fixed);
  CHECK_FALSE(plan.next({}));
  int baselines = 0;
  for (int i = 0; i < 100; ++i) {
    const auto planned = plan.next({9});
    if (planned->speedup == 0) {
      ++baselines;
    } else {
      CHECK(planned->speedup == Approx(0.4));
    }
  }
  CHECK(baselines == 50);
}

TEST_CASE("baseline_share other than a half", "[causal][plan]") {
  for (const double share : {0.25, 0.75}) {
    PlanOptions other = options();
    other.baseline_share = share;
    Plan plan(other);
    int baselines = 0;
    for (int i = 0; i < 400; ++i) baselines += plan.next({9})->speedup == 0 ? 1 : 0;
    CHECK(baselines == static_cast<int>(share * 400));
  }
}

}  // namespace
}  // namespace causalctl::causal
