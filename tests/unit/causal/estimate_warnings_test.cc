// Tests that each warning of a report appears if it has a cause, and only then.
#include "controller/causal/analysis/estimate_warnings.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/finding.h"

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

// One unit is worth optimising, and there is no cause for a warning.
report::Report sound() {
  report::Report report;
  report.experiments = 40;
  report::UnitResult unit;
  unit.unit = "f";
  unit.sample_share = 0.5;
  unit.slope = Interval{0.2, 0.15, 0.25};
  unit.best = report::CurvePoint{0.5, {0.1, 0.08, 0.12}, 10, 100};
  unit.ceiling = 0.5;
  unit.tested = {20, 20, 18, 400};
  unit.verdict = report::Verdict::optimise;
  report::ProgressResult point;
  point.name = "p";
  point.visits = 1000;
  point.units = {unit};
  point.null_effect = Interval{0.001, -0.01, 0.012};
  report.progress = {point};
  return report;
}

std::vector<std::string> warnings_of(report::Report report) {
  for (report::ProgressResult& point : report.progress) {
    point.bearing = bearing_of({}, report, {point.name, point.latency}, point.null_effect);
  }
  report.finding = finding_of(report);
  add_warnings({}, report);
  return texts_of(report.warnings);
}

}  // namespace

TEST_CASE("a sound report has no warnings", "[causal]") { CHECK(warnings_of(sound()).empty()); }

TEST_CASE("baselines that differ from each other fail the self-check", "[causal]") {
  report::Report report = sound();
  report.progress[0].null_effect = Interval{0.03, 0.02, 0.04};
  const auto warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], StartsWith("the self-check of p failed") && Contains("3.0 % [2.0, 4.0]"));
  report.progress[0].null_effect = Interval{0.009, 0.002, 0.016};  // too little to matter
  CHECK(warnings_of(report).empty());
}

TEST_CASE("what counting adds to a short latency is told", "[causal]") {
  report::Report report = sound();
  report.progress[0].latency = true;
  report.progress[0].visit_cost_ns = 10 * kMicrosecond;
  report.progress[0].mean_latency_s = 16e-6;
  const auto warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], StartsWith("p: at least 10 µs of the mean latency, 16 µs, is the cost"));
  report.progress[0].mean_latency_s = 5e-6;
  CHECK_THAT(warnings_of(report).at(0), Contains("at least 5 µs of the mean latency, 5 µs,"));
  report.progress[0].mean_latency_s = 1e-3;
  CHECK(warnings_of(report).empty());
  report.progress[0].latency = false;
  report.progress[0].mean_latency_s = 16e-6;
  CHECK(warnings_of(report).empty());
}

TEST_CASE("a point that comes at its own pace is told, and one of which that is not known",
          "[causal]") {
  report::Report report = sound();
  auto& pacing = report.progress[0].pacing;
  pacing = report::Pacing{report::Pace::of_program, 0.2, {0.8, 0.78, 0.82}, {}};
  CHECK(warnings_of(report).empty());
  pacing = report::Pacing{report::Pace::own, 0.2, {0.99, 0.97, 1.01}, {}};
  auto warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], StartsWith("p comes at its own pace: while all threads stood still for "
                                     "20 % of the time it came 99 % as often [97, 101]. "));
  pacing->absorbed = Interval{0.9, 0.8, 1};  // threads queue for cores, which this shows
  warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Contains("as often [97, 101], and 90 % of that [80, 100] was absorbed by"));
  pacing->pace = report::Pace::unknown;
  warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], StartsWith("whether p waits") && Contains("could not be told"));
}

TEST_CASE("each progress point has its own self-check", "[causal]") {
  report::Report report = sound();
  report.progress.push_back(report.progress[0]);
  report.progress[1].name = "second";
  CHECK(warnings_of(report).empty());
  report.progress[1].null_effect = Interval{0.03, 0.02, 0.04};
  const auto warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], StartsWith("the self-check of second failed"));
}

TEST_CASE("a verdict that the self-check does not bear is withheld, and that is told", "[causal]") {
  report::Report report = sound();
  report.progress[0].null_effect = Interval{-0.07, -0.33, 0.14};
  report.progress[0].units[0].verdict = report::Verdict::not_enough_data;
  report.progress[0].units[0].within_null = true;
  const auto told = [](const std::string& warning) {
    return warning ==
           "p: without any speedup the experiments agree only to [-33.0, 14.0] % (p); a unit that "
           "would have a verdict otherwise has no effect that is certainly larger, and so no "
           "verdict";
  };
  auto warnings = warnings_of(report);
  CHECK(std::count_if(warnings.begin(), warnings.end(), told) == 1);
  report.progress[0].units[0].within_null = false;
  warnings = warnings_of(report);
  CHECK(std::count_if(warnings.begin(), warnings.end(), told) == 0);
}

TEST_CASE("an effect larger than the unit's own time allows for is not to be trusted", "[causal]") {
  report::Report report = sound();
  report.progress[0].units[0].ceiling = 0.1;  // at a speedup of one half: 5 %
  const auto warnings = warnings_of(report);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("more than the 5.0 %") && Contains("counts for nothing"));
}

TEST_CASE("a point that was never passed, and one without any worthwhile unit", "[causal]") {
  report::Report report = sound();
  report.progress[0].visits = 0;
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0], StartsWith("p was never visited"));
  report = sound();
  report.progress[0].units[0].verdict = report::Verdict::no_effect;
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0], Contains("no effect larger than 25.0 % is possible here"));
  report.overhead.period_ns = 10 * kMillisecond;
  report.progress[0].units[0].slope->high = 0.6;
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0], StartsWith("p: the experiments tell nothing: "));
}

TEST_CASE("waits for cores are told apart by whose doing they are", "[causal]") {
  report::Report report = sound();
  report.oversubscribed_share = report.foreign_share = 0.4;
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0], Contains("40 % of the time because of other processes"));
  CHECK_THAT(warnings_of(report)[0], Contains("of CPU time). Effects"));
  report.beside = {Warning("Others had the cores.")};  // says it better
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0], StartsWith("Others had"));
  report.beside.clear();
  report.peers = {"client (process 17)"};
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0],
             Contains("of CPU time), among them client (process 17), which it talks to. Effects"));
  report.foreign_share = 0;
  REQUIRE(warnings_of(report).size() == 1);
  CHECK_THAT(warnings_of(report)[0], Contains("hold only for this number of cores"));
}

}  // namespace causalctl::causal
