#include "controller/causal/experiments/status.h"

#include <catch2/catch.hpp>
#include <string>

namespace causalctl::causal {

TEST_CASE("the status line counts experiments, and what pauses and progress they have",
          "[causal][status]") {
  Run run;
  const Status none = status_of(run, "survey", nullptr);
  CHECK(std::string(none.phase) == "survey");
  CHECK(none.experiments == 0);
  CHECK(none.paused_share == 0);
  CHECK(none.visits_per_s == 0);

  Experiment first;
  first.wall_ns = 400 * kMillisecond;
  first.throughput = {{"done", 100, 0, 0}};
  Experiment second = first;
  second.delay_ns = 100 * kMillisecond;
  second.paid_ns = 150 * kMillisecond;  // by two threads together
  second.throughput = {{"done", 60, 0, 0}};
  second.discarded = "controller late";
  run.experiments = {first, second};
  Experiment now;
  now.unit.name = "a.c:1";
  now.speedup = 0.25;
  const Status status = status_of(run, "experiments", &now);
  CHECK(status.experiments == 2);
  CHECK(status.discarded == 1);
  CHECK(status.paused_share == Approx(0.125));
  CHECK(status.visits_per_s == Approx(150));
  CHECK(status.unit == "a.c:1");
  CHECK(status.speedup == 0.25);
}

TEST_CASE("a delay that cores hand on to each other costs nothing, so far as no thread is paused",
          "[causal][status]") {
  Run run;
  Experiment experiment;
  experiment.wall_ns = 400 * kMillisecond;
  experiment.delay_ns = 100 * kMillisecond;
  run.experiments = {experiment};
  CHECK(status_of(run, "experiments", nullptr).paused_share == 0);
  run.experiments[0].paid_ns = 20 * kMillisecond;
  CHECK(status_of(run, "experiments", nullptr).paused_share == Approx(0.05));
}

}  // namespace causalctl::causal
