// Tests that units, groups and predictions that belong together are averaged, and no others.
#include "controller/causal/analysis/run_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/predict.h"
#include "tests/unit/causal/profiles.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Names = std::vector<std::string>;

Run server(const std::string& id) {
  Run run = synthetic_run({.units = {{"a.c:1", [](double s) { return 0.6 * s; }}, {"b.c:2"}}});
  run.id = id;
  run.executable = "/srv/server";
  run.build_id = "0123456789abcdef0123";
  return run;
}

void make_functions(Run& run) {
  const auto change = [](Unit& unit) {
    unit.is_line = false;
    unit.name = unit.name == "a.c:1" ? "fa" : "fb";
  };
  for (Experiment& one : run.experiments) change(one.unit);
  for (UnitSamples& one : run.samples) change(one.unit);
}

// These runs say nothing of server(). Each differs in one respect.
std::vector<Run> unrelated() {
  std::vector<Run> all(6, server("u"));
  make_functions(all[0]);
  all[1].build_id = "ffffffffffff";
  all[2].executable = "/usr/bin/nginx";
  all[2].build_id = "";
  all[3].config_json = R"({"scope":{"binary":["MAIN","libc*"]}})";
  all[4].config_json = R"({"scope":{"binary":["MAIN"],"file":["a.c"]}})";
  all[5].config_json = R"({"progress":{"end_to_end":true}})";
  return all;
}

Names names_of_groups(const std::vector<RunGroup>& groups) {
  Names names;
  for (const RunGroup& group : groups) names.push_back(group.name);
  return names;
}

bool mentions(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

const report::UnitResult& unit_in(const report::Report& report, const std::string& name) {
  const auto& units = report.progress.at(0).units;
  const auto found = std::find_if(units.begin(), units.end(), [&](const report::UnitResult& each) {
    return each.unit == name;
  });
  REQUIRE(found != units.end());
  return *found;
}

void check_same(const report::Report& one, const report::Report& other) {
  REQUIRE(one.progress.size() == other.progress.size());
  REQUIRE(one.progress[0].units.size() == other.progress[0].units.size());
  for (std::size_t i = 0; i < one.progress[0].units.size(); ++i) {
    const report::UnitResult& a = one.progress[0].units[i];
    const report::UnitResult& b = other.progress[0].units[i];
    CHECK(a.unit == b.unit);
    CHECK(a.verdict == b.verdict);
    CHECK(a.sample_share == b.sample_share);
    CHECK(a.phase_factor == b.phase_factor);
    CHECK(a.ceiling == b.ceiling);
    REQUIRE(a.slope.has_value() == b.slope.has_value());
    if (!a.slope) continue;
    CHECK(a.slope->value == b.slope->value);
    CHECK(a.slope->low == b.slope->low);
    CHECK(a.slope->high == b.slope->high);
  }
}

}  // namespace

TEST_CASE("a run that does not belong to a profile changes nothing of it", "[causal][groups]") {
  for (const Run& other : unrelated()) {
    const auto groups = group_runs({server("1"), other});
    REQUIRE(groups.size() == 2);
    check_same(estimate(groups[0].runs), estimate({server("1")}));
    check_same(estimate(groups[1].runs), estimate({other}));
    CHECK(mentions(texts_of(remarks_on(groups)), "2 groups of runs"));
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Run other = synthetic_profile({.seed = 1000 + seed}).run;
    other.build_id = "other";
    const Run run = synthetic_profile({.seed = seed}).run;
    const auto groups = group_runs({other, run});
    REQUIRE(groups.size() == 2);
    check_same(estimate(groups[1].runs), estimate({run}));
  }
}

TEST_CASE("what tells runs apart names their groups", "[causal][groups]") {
  std::vector<Run> runs = unrelated();
  runs.insert(runs.begin(), server("1"));
  CHECK(names_of_groups(group_runs({runs[0], runs[1]})) ==
        Names{"server, by line", "server, by function"});
  CHECK(names_of_groups(group_runs({runs[0], runs[3]})) == Names{"server", "nginx"});
  runs[3].started_as = "proxy";
  CHECK(names_of_groups(group_runs({runs[0], runs[3]})) == Names{"server", "proxy"});
  CHECK(names_of_groups(group_runs({runs[0], runs[4]})) ==
        Names{"server, scope MAIN", "server, scope MAIN libc*"});
  const auto builds = group_runs({runs[0], runs[2]});
  CHECK(names_of_groups(builds) ==
        Names{"server, build 0123456789ab", "server, build ffffffffffff"});
  CHECK(mentions(texts_of(remarks_on(builds)), "causalctl ab compares builds"));
  CHECK_THAT(list_of(builds), Contains("\n  2  server, build ffffffffffff: 1 run (u)"));
  CHECK(group_runs(runs).size() == runs.size());
}

TEST_CASE("runs of one build are one group, whatever host, plan and load", "[causal][groups]") {
  std::vector<Run> runs(4, server("1"));
  runs[1].host = "another";
  runs[1].executable = "/opt/server";
  runs[1].config_json = R"({"scope":{"binary":["MAIN"],"file":[]},"experiment":{"fixed":"a.c:1"}})";
  runs[2].overhead.period_ns /= 2;
  runs[3].ended = false;  // killed before anything was measured
  runs[3].experiments.clear();
  runs[3].samples.clear();
  const auto groups = group_runs(runs);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].runs.size() == 4);
  CHECK(remarks_on(groups).empty());
}

TEST_CASE("where a log has no build-id the executable tells", "[causal][groups]") {
  std::vector<Run> runs(3, server("1"));
  for (Run& run : runs) run.build_id.clear();
  runs[2].executable = "/opt/server";
  const auto groups = group_runs(runs);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].runs.size() == 2);
  CHECK(names_of_groups(groups)[1] == "server, no build-id, /opt/server");
  CHECK(mentions(texts_of(remarks_on(groups)), "2 runs of server have no build-id"));
}

TEST_CASE("a latency point that means something else is another one", "[causal][groups]") {
  const auto with = [](const std::string& begin) {
    Run run = server("1");
    run.config_json =
        R"({"progress":{"latency":[{"name":"q","begin":")" + begin + R"(","end":"out"}]}})";
    return run;
  };
  CHECK(group_runs({with("in"), with("in"), server("1")}).size() == 1);
  CHECK(names_of_groups(group_runs({server("1"), with("in"), with("elsewhere")}))[1] ==
        "server, q from elsewhere to out");
}

TEST_CASE("a damaged configuration is one that is not known", "[causal][groups]") {
  for (const char* config : {"text", "[]", R"({"scope":3})", R"({"scope":{"binary":{}}})",
                             R"({"progress":{"latency":[3],"end_to_end":"yes"}})"}) {
    Run run = server("1");
    run.config_json = config;
    CHECK(basis_of(run).binary_scope == "MAIN");
    CHECK_FALSE(basis_of(run).end_to_end);
  }
}

// The other run has --fixed with another unit: the first cannot be chosen there, and the load may
// differ.
TEST_CASE("a run in which a unit could not be chosen says nothing of its phases and time",
          "[causal][groups]") {
  const Run run = server("1");
  Run fixed = server("2");
  std::erase_if(fixed.experiments, [](const Experiment& one) { return one.unit.name == "a.c:1"; });
  fixed.samples[0].baseline_count = 1;  // hardly ever executed there
  const auto both = unit_in(estimate({run, fixed}), "a.c:1");
  const auto alone = unit_in(estimate({run}), "a.c:1");
  CHECK(both.phase_factor == alone.phase_factor);
  CHECK(both.ceiling == alone.ceiling);
  CHECK(both.slope->value == Approx(alone.slope->value).margin(0.01));
  CHECK(both.runs == 1);
  CHECK(alone.runs == 1);
  CHECK(unit_in(estimate({run, fixed}), "b.c:2").runs == 2);
}

// It has twice the share on one host, which has few experiments: that is no phase.
TEST_CASE("runs with other shares of a unit show no phase", "[causal][groups]") {
  Run run = server("1");
  Run busy = server("2");
  for (UnitSamples& samples : busy.samples) samples.baseline_count *= 4;
  for (Experiment& one : busy.experiments) {
    one.samples *= 4;
    if (one.unit.name == "a.c:1" && one.speedup == 0 && one.start_ns > busy.wall_ns / 4) {
      one.unit.name = "b.c:2";
    }
  }
  CHECK(unit_in(estimate({run, busy}), "a.c:1").phase_factor == 1);
}

TEST_CASE("a progress point is estimated from the runs that counted it", "[causal][groups]") {
  const Run run = server("1");
  Run other = server("2");
  for (Experiment& one : other.experiments) one.throughput[0].name = "other";
  for (UnitSamples& samples : other.samples) samples.baseline_count /= 10;
  const auto both = estimate({run, other});
  REQUIRE(both.progress.size() == 2);
  CHECK(both.progress[0].runs == 1);
  CHECK(both.progress[0].rate_per_s == estimate({run}).progress[0].rate_per_s);
  check_same(both, [&] {
    auto alone = estimate({run});
    alone.progress.push_back(both.progress[1]);
    return alone;
  }());
}

TEST_CASE("two runs of a program say more than each", "[causal][groups]") {
  const double truth = 0.3;
  int covered = 0;
  double of_one = 0, of_both = 0;
  constexpr int kProfiles = 200;
  for (std::uint64_t seed = 1; seed <= kProfiles; ++seed) {
    const auto make = [&](std::uint64_t with) {
      return synthetic_run({.units = {{"a", [&](double s) { return truth * s; }}, {"b"}},
                            .experiments = 60,
                            .seed = with});
    };
    const Run one = make(seed), other = make(seed + kProfiles);
    const auto width = [](const report::UnitResult& unit) {
      return unit.slope->high - unit.slope->low;
    };
    const auto both = unit_in(estimate({one, other}), "a");
    CHECK(both.runs == 2);
    of_one += width(unit_in(estimate({one}), "a")) + width(unit_in(estimate({other}), "a"));
    of_both += 2 * width(both);
    covered += both.slope->low <= truth && truth <= both.slope->high ? 1 : 0;
  }
  CHECK(of_both < 0.8 * of_one);
  CHECK(covered >= 0.92 * kProfiles);
}

TEST_CASE("runs that disagree about the pace of a point are told of", "[causal][groups]") {
  const auto with = [](double rate) {
    Run run = server("1");
    run.pacing = {{"work", 0.2, rate, rate - 0.01, rate + 0.01, false, 0, 0, 0}};
    return run;
  };
  const Run own = with(1), waits = with(0.8), unknown = server("1");
  CHECK(mentions(texts_of(estimate({own, waits}).warnings), "1 that it waits for the program"));
  CHECK(mentions(texts_of(estimate({own, unknown}).warnings), "1 did not look"));
  CHECK_FALSE(mentions(texts_of(estimate({waits, unknown}).warnings), "did not look"));
  CHECK_FALSE(mentions(texts_of(estimate({own, own}).warnings), "one by one"));
}

TEST_CASE("a prediction is from the one group that tried the unit", "[causal][groups]") {
  const Run run = server("1");
  Run functions = server("2");
  make_functions(functions);
  const auto alone = predicted_effect({run}, "work", "a.c:1", 0.5);
  const auto mixed = predicted_effect({functions, run}, "work", "a.c:1", 0.5);
  CHECK(mixed.effect.value == alone.effect.value);
  CHECK(mixed.effect.low == alone.effect.low);
  Run rebuilt = server("3");
  rebuilt.build_id = "ff";
  CHECK_THROWS_WITH(predicted_effect({run, rebuilt}, "work", "a.c:1", 0.5),
                    Contains("2 of the 2 groups") && Contains("build ff: 1 run (3)"));
  CHECK_THROWS_WITH(predicted_effect({run, rebuilt}, "work", "c.c:1", 0.5),
                    Contains("0 of the 2 groups"));
}

}  // namespace causalctl::causal
