// Tests what a report says of the programs that shared the target's cores.
#include "controller/causal/analysis/estimate_beside.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/causal/analysis/estimate.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

Run with_cores(const CoreTotals& each) {
  Run run = synthetic_run({.units = {{"f", [](double speedup) { return 0.2 * speedup; }}}});
  for (Experiment& experiment : run.experiments) experiment.cores = each;
  return run;
}

std::string told_of(const Run& run) {
  std::string all;
  for (const Warning& told : told_of_strangers({run})) all += told.text();
  return all;
}

constexpr Nanoseconds kRan = 300 * kMillisecond;
constexpr Nanoseconds kWaited = 200 * kMillisecond;

}  // namespace

TEST_CASE("of strangers is told how much they take, and what that does to effects", "[causal]") {
  const std::string apart = told_of(with_cores({kRan, kWaited, kRan, 0, 0}));
  CHECK_THAT(apart, StartsWith("The target's threads waited for a core 40 % of the time") &&
                        Contains("because of other programs;") &&
                        Contains("is worth 1.7 ms here") &&
                        Contains("effects hold under this load") &&
                        Contains("±4 points (at 50 %) is in every interval"));
  // A hundred meetings in 300 ms of CPU time: one in a slice, and more with 200.
  CHECK_THAT(told_of(with_cores({kRan, kWaited, kRan, 90, 0})),
             Contains("Its threads wait for each other") &&
                 Contains("±12 points (at 50 %) is in every interval"));
  CHECK_THAT(
      told_of(with_cores({kRan, kWaited, kRan, 200, 0})),
      Contains("within a time slice") && Contains("±24 points (at 50 %) is in every interval"));
  CHECK(told_of(with_cores({kRan, kRan / 30, kRan, 200, 0})).empty());
  CHECK(told_of(with_cores({})).empty());  // an older log
}

TEST_CASE("a quota of CPU time is named", "[causal]") {
  Run run = with_cores({kRan, kWaited, kRan, 0, 0});
  run.throttled = true;
  CHECK_THAT(told_of(run), Contains("because of a quota of CPU time (cgroup)"));
}

TEST_CASE("how long a quota stops the target is told, and how much that widens intervals",
          "[causal]") {
  CoreTotals cores{.cpu_ns = kRan, .visitors_cpu_ns = kRan};
  cores.quota_ns = 500 * kMillisecond;
  cores.quota_stopped_ns = 300 * kMillisecond;
  const std::string told = told_of(with_cores(cores));
  CHECK_THAT(told,
             StartsWith("A quota of CPU time (cgroup) stopped the target 60 % of the time while") &&
                 Contains("worth 2.5 times as much") && Contains("±6 points (at 50 %)"));
  SECTION("beside what strangers take") {
    cores.stranger_wait_ns = kWaited;
    Run run = with_cores(cores);
    run.throttled = true;
    CHECK_THAT(told_of(run), StartsWith("The target's threads waited for a core 40 %") &&
                                 Contains("because of other programs;") &&
                                 Contains("A quota of CPU time (cgroup) stopped the target 60 %"));
  }
}

TEST_CASE("what is told of strangers stands in the report once, and is a warning", "[causal]") {
  const auto report = estimate({with_cores({kRan, kWaited, kRan, 0, 0})});
  REQUIRE(report.beside.size() == 1);
  CHECK(std::count(report.warnings.begin(), report.warnings.end(), report.beside[0]) == 1);
}

}  // namespace causalctl::causal
