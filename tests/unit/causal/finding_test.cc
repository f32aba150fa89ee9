#include "controller/causal/analysis/finding.h"

#include <catch2/catch.hpp>

using namespace causalctl;
using namespace causalctl::causal;
using report::CurvePoint;
using report::Finding;
using report::ProgressResult;
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
  result.summary = {pool(0.2, slope * 0.2, half / 2), pool(0.55, slope * 0.55, half / 2)};
  return result;
}

Report report_of(std::vector<UnitResult> units) {
  ProgressResult point;
  point.name = "work";
  point.units = std::move(units);
  Report report;
  report.progress = {point};
  return report;
}

bool says(const Finding& finding, double speedup, double effect, double low, double high) {
  const auto is = [](double a, double b) { return std::abs(a - b) < 1e-6; };
  return is(finding.speedup, speedup) && is(finding.effect.value, effect) &&
         is(finding.effect.low, low) && is(finding.effect.high, high);
}

}  // namespace

TEST_CASE("the finding is what is certain, and possible", "[causal]") {
  UnitResult deflate = unit("deflate", 0.85, 0.1, Verdict::optimise);
  deflate.ceiling = 1.0;
  SECTION("the slope before a pool that is hardly certain, and more than the unit can give") {
    deflate.summary = {pool(0.21, 0.29, 0.19), pool(0.55, 0.45, 0.2)};
    CHECK(says(finding_of(report_of({deflate})), 0.1, 0.085, 0.075, 0.095));
  }
  SECTION("no slope of a curve that is not straight") {
    deflate.slope = Interval{0.68, 0.66, 0.69};
    deflate.summary = {pool(0.2, 0.189, 0.02), pool(0.55, 0.45, 0.0125), pool(0.88, 0.511, 0.014)};
    CHECK(says(finding_of(report_of({deflate})), 0.55, 0.45, 0.4375, 0.4625));
  }
  SECTION("nothing that baselines may differ by, too") {
    deflate.summary = {pool(0.2, 0.17, 0.02), pool(0.55, 0.4675, 0.05)};
    Report report = report_of({deflate});
    report.progress[0].null_effect = Interval{0.056, 0.001, 0.108};
    CHECK(says(finding_of(report), 0.2, 0.17, 0.15, 0.19));
    report.progress[0].null_effect = Interval{-0.1, -0.2, 0};
    CHECK(says(finding_of(report), 0.55, 0.4675, 0.4175, 0.5175));
    report.progress[0].null_effect = Interval{0.056, 0.001, 0.084};
    CHECK(says(finding_of(report), 0.1, 0.085, 0.075, 0.095));
  }
  SECTION("no interval beyond what the unit can give") {
    deflate.slope = Interval{0.98, 0.9, 1.06};
    deflate.summary.clear();
    CHECK(says(finding_of(report_of({deflate})), 0.1, 0.098, 0.09, 0.1));
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
  SECTION("nothing is worth it") {
    units.erase(units.begin(), units.begin() + 2);
    finding = finding_of(report);
    CHECK(finding.kind == Finding::Kind::no_effect);
    CHECK(finding.unit.empty());
    units.erase(units.begin());
    CHECK(finding_of(report).kind == Finding::Kind::not_enough_data);
  }
}
