// The loop over executions of a program, with the program played by the test.
#include "controller/causal/experiments/end_to_end.h"

#include <catch2/catch.hpp>
#include <vector>

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;

struct Played {
  std::vector<PlannedExecution> planned;
  std::size_t most = 5;          // executions; then the user ends it
  int status_of_third = 0;       // as wait(2) gives it
  ExitCode code = ExitCode::ok;  // of each process that watches
  Nanoseconds quota_of_first_ns = 0;
  Run run;

  ExitCode play(const config::Config& config = {}) {
    EndToEndHooks hooks;
    hooks.execute = [this](const config::Config&, const PlannedExecution& plan,
                           std::optional<Nanoseconds>) { return execute(plan); };
    hooks.show = [](const Status&) {};
    hooks.interrupts = [this] { return planned.size() < most ? 0 : 1; };
    hooks.config_json = "{}";
    LogWriter log("/dev/null");
    return run_end_to_end(config, hooks, log, run);
  }

 private:
  Execution execute(const PlannedExecution& plan) {
    planned.push_back(plan);
    Execution execution;
    execution.code = code;
    execution.status = planned.size() == 3 ? status_of_third : 0;
    Experiment experiment;
    experiment.unit = {"a.c:1", true, "f", "/src/a.c", 1};
    experiment.speedup = plan.speedup;
    experiment.wall_ns = kSecond;
    experiment.throughput = {{kEndToEnd, 1, 0, kSecond}};
    execution.run.experiments = {experiment};
    execution.run.samples = {{experiment.unit, 10}};
    execution.run.cores.cpu_ns = kSecond;
    if (planned.size() == 1) execution.run.cores.quota_ns = quota_of_first_ns;
    execution.run.warnings = {"told by each"};
    execution.run.reason = EndReason::target_exited;
    return execution;
  }
};

TEST_CASE("the first execution shows what is hot, each later one is an experiment", "[causal]") {
  Played played;
  CHECK(played.play() == ExitCode::ok);
  REQUIRE(played.planned.size() == 5);
  CHECK(played.planned[0].unit.empty());
  CHECK(played.planned[1].unit == "/src/a.c:1");
  CHECK(played.run.experiments.size() == 4);
  CHECK(played.run.ended);
  CHECK(played.run.reason == EndReason::interrupted);
  REQUIRE(played.run.samples.size() == 1);
  CHECK(played.run.samples[0].count == 50);
  CHECK(played.run.warnings == std::vector<std::string>{"told by each"});
}

TEST_CASE("a quota that the first execution uses up is known to all later ones", "[causal]") {
  Played played;
  played.quota_of_first_ns = GENERATE(kSecond / 4, kSecond * 3 / 4);
  played.play();
  REQUIRE(played.planned.size() == 5);
  CHECK_FALSE(played.planned[0].under_quota);
  CHECK(played.planned[1].under_quota == (played.quota_of_first_ns > kSecond / 2));
  CHECK(played.planned[4].under_quota == played.planned[1].under_quota);
  CHECK(played.run.cores.cpu_ns == 5 * kSecond);
}

TEST_CASE("an execution that ends otherwise than the first does not count", "[causal]") {
  Played played;
  played.status_of_third = 1 << 8;
  played.play();
  REQUIRE(played.run.experiments.size() == 4);
  CHECK(played.run.experiments[0].discarded.empty());
  CHECK_THAT(played.run.experiments[1].discarded, Contains("otherwise than in its first run"));
}

TEST_CASE("where the first execution fails there is nothing to report", "[causal]") {
  Played played;
  played.code = ExitCode::usage;
  CHECK(played.play() == ExitCode::usage);
  CHECK(played.planned.size() == 1);
  CHECK_FALSE(played.run.ended);
}

}  // namespace
}  // namespace causalctl::causal
