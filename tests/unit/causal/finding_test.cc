#include "controller/causal/analysis/finding.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/causal/analysis/bearing.h"

namespace causalctl::causal {

using report::CurvePoint;
using report::Finding;
using report::Help;
using report::ProgressResult;
using report::Reason;
using report::Report;
using report::UnitResult;
using report::Verdict;

namespace {

CurvePoint pool(double speedup, double effect, double half) {
  return {speedup, {effect, effect - half, effect + half}, 9, 4500};
}

UnitResult unit(const std::string& name, double slope, double half, Verdict verdict) {
  UnitResult result;
  result.unit = name;
  result.is_line = name.find(':') != std::string::npos;
  result.function = "of_" + name;
  result.verdict = verdict;
  result.slope = Interval{slope, slope - half, slope + half};
  result.tested = {20, 20, 18, 400};
  result.sample_share = 0.3;
  result.samples = 300;
  result.summary = {pool(0.2, slope * 0.2, half / 2), pool(0.55, slope * 0.55, half / 2)};
  return result;
}

// Baselines differ by nothing; a check may say another thing.
Report report_of(std::vector<UnitResult> units, Interval null = {0, 0, 0}) {
  ProgressResult point;
  point.name = "work";
  point.visits = 100'000;
  point.units = std::move(units);
  point.null_effect = null;
  Report report;
  report.experiments = 80;
  report.wall_ns = 60 * kSecond;
  point.bearing = bearing_of({}, report, {point.name, false}, point.null_effect);
  report.progress = {point};
  return report;
}

bool has(const std::vector<Reason>& reasons, Reason::Kind kind) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [kind](const Reason& one) { return one.kind == kind; });
}

const Help* find(const Finding& finding, Help::Kind kind) {
  const auto found = std::find_if(finding.helps.begin(), finding.helps.end(),
                                  [kind](const Help& one) { return one.kind == kind; });
  return found == finding.helps.end() ? nullptr : &*found;
}

bool says(const Finding& finding, double speedup, double effect, double low, double high) {
  const auto is = [](double a, double b) { return std::abs(a - b) < 1e-6; };
  return is(finding.speedup, speedup) && is(finding.effect.value, effect) &&
         is(finding.effect.low, low) && is(finding.effect.high, high);
}

}  // namespace

TEST_CASE("the finding is the smallest speedup that the run's checks bear", "[causal]") {
  UnitResult deflate = unit("deflate", 0.85, 0.1, Verdict::optimise);
  deflate.ceiling = 1.0;
  SECTION("the slope, if the curve is straight") {
    deflate.summary = {pool(0.21, 0.29, 0.19), pool(0.55, 0.45, 0.2)};
    CHECK(says(finding_of(report_of({deflate})), 0.1, 0.085, 0.075, 0.095));
  }
  SECTION("no slope of a curve that is not straight") {
    deflate.slope = Interval{0.68, 0.66, 0.69};
    deflate.summary = {pool(0.2, 0.189, 0.02), pool(0.55, 0.45, 0.0125), pool(0.88, 0.511, 0.014)};
    CHECK(says(finding_of(report_of({deflate})), 0.2, 0.189, 0.169, 0.2));
  }
  SECTION("the whole interval is beyond what baselines may differ by") {
    deflate.summary = {pool(0.2, 0.17, 0.02), pool(0.55, 0.4675, 0.05)};
    CHECK(says(finding_of(report_of({deflate}, {0.056, 0.001, 0.108})), 0.2, 0.17, 0.15, 0.19));
    CHECK(says(finding_of(report_of({deflate}, {-0.1, -0.16, 0})), 0.55, 0.4675, 0.4175, 0.5175));
    CHECK(says(finding_of(report_of({deflate}, {0.03, 0.001, 0.074})), 0.1, 0.085, 0.075, 0.095));
    CHECK(says(finding_of(report_of({deflate}, {0.03, 0.001, 0.076})), 0.2, 0.17, 0.15, 0.19));
  }
  SECTION("and beyond what sampling may cost, which the unit may have all of") {
    deflate.summary = {pool(0.2, 0.17, 0.02), pool(0.55, 0.4675, 0.05)};
    Report report = report_of({deflate});
    auto& bounds = report.progress[0].bearing.bounds;
    bounds.push_back({Reason::Kind::sampling_cost, "", 0, 0.74, Interval{0.5, 0.3, 0.74}});
    CHECK(says(finding_of(report), 0.1, 0.085, 0.075, 0.095));
    bounds.back().per_speedup = 0.751;
    const Finding finding = finding_of(report);
    CHECK(says(finding, 0.55, 0.4675, 0.4175, 0.5175));
    CHECK(finding.bound == Approx(0.751 * 0.55));
    CHECK(finding.reasons.front().kind == Reason::Kind::sampling_cost);
  }
  SECTION("no interval beyond what the unit can give") {
    deflate.slope = Interval{0.98, 0.9, 1.06};
    deflate.summary.clear();
    CHECK(says(finding_of(report_of({deflate})), 0.1, 0.098, 0.09, 0.1));
    deflate.ceiling = 0.8;
    CHECK_FALSE(statement_of(deflate, {}));
  }
  SECTION("nothing, if the baselines are too few to compare them") {
    Report report = report_of({deflate});
    report.progress[0].bearing = bearing_of({}, report, {"work", false}, std::nullopt);
    CHECK_FALSE(statement_of(deflate, report.progress[0].bearing));
  }
}

TEST_CASE("the finding is of the first unit that has one, and names it", "[causal]") {
  Report report = report_of({unit("a.c:1", 0.2, 0.04, Verdict::optimise),
                             unit("lock", -0.15, 0.03, Verdict::contention),
                             unit("render", 0.001, 0.012, Verdict::no_effect),
                             unit("rare", 0, 0, Verdict::not_enough_data)});
  auto& units = report.progress[0].units;
  Finding finding = finding_of(report);
  CHECK(finding.kind == Finding::Kind::optimise);
  CHECK(finding.point == "work");
  CHECK(finding.unit == "a.c:1");
  CHECK(finding.function == "of_a.c:1");
  SECTION("not what starts the program") {
    units[0].everybodys_caller = true;
    CHECK(finding_of(report).unit == "lock");
    units.resize(1);
    CHECK(finding_of(report).kind == Finding::Kind::only_callers);
  }
  SECTION("faster code can hurt") {
    units.erase(units.begin());
    finding = finding_of(report);
    CHECK(finding.kind == Finding::Kind::contention);
    CHECK(finding.function.empty());  // the unit is one
    CHECK(says(finding, 0.1, -0.015, -0.018, -0.012));
  }
  SECTION("nothing is worth it, if no measured unit can gain much") {
    units.erase(units.begin(), units.begin() + 2);
    finding = finding_of(report);
    CHECK(finding.kind == Finding::Kind::no_effect);
    CHECK(finding.unit.empty());
    CHECK(finding.most == Approx(0.013));
    CHECK(finding.measured == 2);
  }
}

TEST_CASE("a run that states nothing says why, and what would help", "[causal]") {
  UnitResult hot = unit("hot", 0.2, 0.3, Verdict::not_enough_data);
  SECTION("a longer run, if chance is what it suffers from") {
    const Finding finding = finding_of(report_of({hot}));
    CHECK(finding.kind == Finding::Kind::not_enough_data);
    CHECK(has(finding.reasons, Reason::Kind::noise));
    // Half of the slope's error, 15 points, falls to 10 in (15/10)^2 times the minute.
    const Help* longer = find(finding, Help::Kind::longer);
    REQUIRE(longer);
    CHECK(longer->effect == 0.1);
    CHECK(static_cast<double>(longer->time_ns) == Approx(2.25 * 60 * kSecond).epsilon(0.01));
    CHECK_FALSE(find(finding, Help::Kind::quieter));
  }
  SECTION("no longer run, if the model leaves as much open") {
    hot.slope_by_model = 0.299;
    Report report = report_of({hot});
    report.foreign_share = 0.4;
    const Finding finding = finding_of(report);
    CHECK(has(finding.reasons, Reason::Kind::strangers));
    CHECK_FALSE(find(finding, Help::Kind::longer));
    CHECK(find(finding, Help::Kind::quieter));
  }
  SECTION("no longer run than anybody would wait for") {
    Report report = report_of({hot});
    report.wall_ns = 4000 * kSecond;
    CHECK_FALSE(find(finding_of(report), Help::Kind::longer));
  }
  SECTION("an effect that is certain by itself, but not beyond the self-check") {
    UnitResult small = unit("small", 0.06, 0.01, Verdict::not_enough_data);
    small.within_null = true;
    const Finding finding = finding_of(report_of({small}, {0.02, -0.068, 0.108}));
    REQUIRE(finding.reasons.size() >= 2);
    CHECK(finding.reasons[0].kind == Reason::Kind::below_bound);
    CHECK(finding.reasons[1].kind == Reason::Kind::self_check);
    CHECK(finding.bound == Approx(0.108));
  }
  SECTION("another point, if it is never visited") {
    Report report = report_of({});
    report.progress[0].visits = 0;
    const Finding finding = finding_of(report);
    CHECK(has(finding.reasons, Reason::Kind::not_visited));
    CHECK(find(finding, Help::Kind::other_point));
  }
  SECTION("a latency, if the point comes at its own pace") {
    Report report = report_of({hot});
    report.progress[0].pacing = report::Pacing{report::Pace::own, 0.2, {0.99, 0.97, 1.01}, {}};
    const Finding finding = finding_of(report);
    CHECK(has(finding.reasons, Reason::Kind::own_pace));
    CHECK(finding.helps.size() == 1);
    CHECK(find(finding, Help::Kind::latency));
  }
  CHECK(finding_of(Report{}).reasons.front().kind == Reason::Kind::no_experiment);
}

TEST_CASE("checks that failed are part of the finding", "[causal]") {
  UnitResult hot = unit("hot", 0.4, 0.05, Verdict::optimise);
  Report report = report_of({hot}, {0.03, 0.02, 0.04});
  report.digest = DigestResult::changed;
  report.experiments_discarded = 50;
  report.overhead.slowdown = 0.2;
  report.overhead.slowdown_low = 0.15;
  report.overhead.slowdown_high = 0.25;
  const Finding finding = finding_of(report);
  CHECK(finding.kind == Finding::Kind::optimise);
  for (const auto kind : {Reason::Kind::self_check_failed, Reason::Kind::target_changed,
                          Reason::Kind::many_discarded, Reason::Kind::sampling_slows}) {
    CHECK(has(finding.failed, kind));
  }
  CHECK(finding_of(report_of({hot})).failed.empty());
}

// What samples take of a thread that is not in the unit does not end with the unit's time; what
// progress shows beyond that may all do so.
TEST_CASE("of what samples take a unit can gain what is executed of it", "[causal]") {
  Report report;
  report.overhead.slowdown = 0.03;
  report.overhead.slowdown_low = 0.02;
  report.overhead.slowdown_high = 0.04;
  UnitResult unit;
  unit.sample_share = 0.1;  // of eight threads
  unit.ceiling = 0.25;
  const auto bound = [&] {
    const auto bearing = bearing_of({}, report, {"work", false}, Interval{});
    CHECK(bearing.bound(0.5) == Approx(0.02));
    return for_unit(bearing, unit).bound(0.5);
  };
  SECTION("a part of it is certainly the samples' own time") {
    report.overhead.slowdown_by_samples = 0.02;
    CHECK(bound() == Approx(0.5 * (0.04 - 0.75 * 0.02)));
    unit.ceiling.reset();  // a latency may gain more than the unit takes
    CHECK(bound() == Approx(0.02));
    unit.ceiling = 1;
    CHECK(bound() == Approx(0.02));
  }
  SECTION("what a sample takes is not known") { CHECK(bound() == Approx(0.02)); }
}

TEST_CASE("what counting a point takes of the CPU time bounds what is stated", "[causal]") {
  Run run;
  run.counting = {{"work", "hardware breakpoint", 5000}};
  Experiment experiment;
  experiment.throughput = {{"work", 1000, 0, 0}};
  experiment.cores.cpu_ns = 50 * kMillisecond;
  run.experiments = {experiment};
  const auto bearing = bearing_of({&run}, Report{}, {"work", false}, Interval{});
  CHECK(bearing.bound(0.5) == Approx(0.05));
  CHECK(has(bearing.failed, Reason::Kind::counting_slows));
}

TEST_CASE("both places of a latency are counted, however often each is passed", "[causal]") {
  Run run;
  run.counting = {{"answer", "hardware breakpoint", 5000}};
  Experiment experiment;
  experiment.latency = {{"answer", 900, 100}};
  experiment.cores.cpu_ns = 50 * kMillisecond;
  run.experiments = {experiment};
  CHECK(bearing_of({&run}, Report{}, {"answer", true}, Interval{}).bound(0.5) == Approx(0.05));
}

TEST_CASE("runs of which one did not look at the pace do not differ", "[causal]") {
  Run own, untold;
  Pacing pacing;
  pacing.point = "work";
  pacing.paused_share = 0.1;
  pacing.rate = pacing.low = pacing.high = 1;
  own.pacing = {pacing};
  const Point point{"work", false};
  CHECK_FALSE(has(bearing_of({&own, &untold}, Report{}, point, Interval{}).failed,
                  Reason::Kind::loads_differ));
  pacing.rate = pacing.low = pacing.high = 0.9;
  untold.pacing = {pacing};
  CHECK(has(bearing_of({&own, &untold}, Report{}, point, Interval{}).failed,
            Reason::Kind::loads_differ));
}

TEST_CASE("a unit that may have no effect is not one whose effect is denied", "[causal]") {
  UnitResult small = unit("a", 0.001, 0.01, Verdict::not_enough_data);
  small.within_null = true;
  CHECK_FALSE(
      has(finding_of(report_of({small}, {0, -0.1, 0.1})).reasons, Reason::Kind::below_bound));
  UnitResult denied = unit("a", 0.05, 0.01, Verdict::not_enough_data);
  denied.within_null = true;
  CHECK(has(finding_of(report_of({denied}, {0, -0.1, 0.1})).reasons, Reason::Kind::below_bound));
}

}  // namespace causalctl::causal
