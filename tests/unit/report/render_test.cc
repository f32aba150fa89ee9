// Golden files: tests/golden/*. To renew them after a wanted change, run the unit tests with
// CAUSALCTL_RENEW_GOLDEN=1 and read the difference.
#include "controller/report/causal/render.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "controller/report/text.h"
#include "tests/unit/report/golden_path.h"

using namespace causalctl;
using namespace causalctl::report;

namespace {

void check_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("CAUSALCTL_RENEW_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream expected;
  expected << std::ifstream(path).rdbuf();
  INFO(path);
  CHECK(text == expected.str());
}

CurvePoint point(double speedup, double effect, double half, std::uint64_t experiments = 9) {
  return {speedup, {effect, effect - half, effect + half}, experiments, experiments * 500};
}

UnitResult unit(const std::string& name, const std::string& function, double slope, double half,
                Verdict verdict) {
  UnitResult result;
  result.unit = name;
  result.is_line = name.find(':') != std::string::npos;
  result.function = function;
  result.file = result.is_line ? "/src/" + name.substr(0, name.find(':')) : "";
  result.line = 217;
  result.samples = 5120;
  result.sample_share = 0.143;
  result.verdict = verdict;
  result.phase_factor = 0.9;
  if (verdict == Verdict::not_enough_data) return result;
  result.tested = {180, 178, 160, 2'200};
  result.slope = Interval{slope, slope - half, slope + half};
  for (int percent = 5; percent <= 100; percent += 5) {
    result.curve.push_back(point(percent / 100.0, slope * percent / 100, half));
  }
  result.summary = {point(0.2, slope * 0.2, half / 2, 63), point(0.55, slope * 0.55, half / 2, 63),
                    point(0.875, slope * 0.875, half / 2, 54)};
  return result;
}

Report example() {
  Report report;
  ProgressResult work;
  work.name = "process_command";
  work.visits = 1'034'221;
  work.rate_per_s = 17237.02;
  work.units = {
      unit("hash.c:217", "hashtable_search", 0.21, 0.04, Verdict::optimise),
      unit("map.cc:1033",
           "std::unordered_map<std::basic_string<char, std::char_traits<char>>, int>::insert("
           "std::pair<int, int> const&)",
           0.03, 0.01, Verdict::optimise),
      unit("lock.c:9", "acquire", -0.15, 0.03, Verdict::contention),
      unit("render", "render", 0.001, 0.012, Verdict::no_effect),
      unit("rare.c:1", "rare", 0, 0, Verdict::not_enough_data)};
  ProgressResult request;
  request.name = "request";
  request.latency = true;
  request.visits = 1'034'220;
  request.rate_per_s = 17237;
  request.mean_latency_s = 0.0023;
  request.p50_latency_s = 0.0021;
  request.p99_latency_s = 0.0102;
  request.units = {unit("hash.c:217", "hashtable_search", 0.3, 0.05, Verdict::optimise)};
  work.null_effect = Interval{-0.001, -0.006, 0.005};
  request.null_effect = Interval{0.004, -0.02, 0.03};
  work.runs = 2;
  for (UnitResult& each : work.units) each.runs = 2;
  work.units[2].runs = 1;
  request.runs = 1;
  request.units[0].runs = 1;
  report.progress = {work, request};
  report.selfcheck = {Interval{-0.001, -0.006, 0.005},
                      {150, 148, 131, 9'412},
                      7'500'000'000,
                      7'481'000'000,
                      {3, 1, 0}};
  report.slowdown = 0.013;
  report.slowdown_low = 0.002;
  report.slowdown_high = 0.024;
  report.controller_cpu_share = 0.021;
  report.attach_stop_ns = 250'000;
  report.sample_to_pause_p50_ns = 1'200'000;
  report.sample_to_pause_p99_ns = 2'300'000;
  report.period_ns = 1'000'000;
  report.experiments = 312;
  report.experiments_discarded = 4;
  report.samples_unknown = 3;
  report.samples_total = 35'804;
  report.throttles = 12;
  report.stacks_copied_in_part = 1'024;
  report.digest = "same";
  report.oversubscribed_share = 0.012;
  report.foreign_share = 0.004;
  report.peers = {"client (process 17)", "proxy (process 9)"};
  report.facilities = {{"sample", "seen"}, {"wake-up", "never-fired"}};
  report.warnings = {"profile.jsonl:17: cut off, ignored"};
  report.executable = "/srv/server-1.2";
  report.started_as = "server";
  report.reason = "duration";
  report.wall_ns = 312'000'000'000;
  report.runs = 2;
  return report;
}

}  // namespace

TEST_CASE("text report", "[report]") {
  check_golden(render_text(example(), false, 100), "report.txt");
  check_golden(render_text(example(), false, 72), "report_narrow.txt");
  check_golden(render_text(example(), true, 100), "report_color.txt");
}

TEST_CASE("text reports of nothing, and of findings of other kinds", "[report]") {
  check_golden(render_text(Report{}, false, 100), "report_empty.txt");
  Report report = example();
  report.progress.pop_back();
  auto& units = report.progress[0].units;
  units.erase(units.begin(), units.begin() + 2);
  const std::string contention = render_text(report, false, 100);
  CHECK(contention.substr(0, contention.find('\n')) ==
        "lock.c:9 (acquire): 10 % faster here makes the program 1.5 % slower [1.2, 1.8]");
  units.erase(units.begin());
  const std::string none = render_text(report, false, 100);
  CHECK(none.substr(0, none.find('\n')) == "Nothing that was measured is worth optimising.");
  units.erase(units.begin());
  const std::string unknown = render_text(report, false, 100);
  CHECK(unknown.substr(0, unknown.find('\n')) == "Not enough data for a finding.");
}

TEST_CASE("the finding is what is certain, and possible", "[report]") {
  const auto finding = [](const UnitResult& one) {
    Report report;
    ProgressResult write;
    write.name = "write";
    write.units = {one};
    report.progress = {write};
    const std::string text = render_text(report, false, 100);
    return text.substr(0, text.find('\n'));
  };
  UnitResult deflate = unit("deflate", "", 0.85, 0.1, Verdict::optimise);
  deflate.ceiling = 1.0;
  SECTION("the slope before a pool that is hardly certain, and more than the unit can give") {
    deflate.summary = {point(0.21, 0.29, 0.19), point(0.55, 0.45, 0.2)};
    CHECK(finding(deflate) ==
          "deflate: 10 % faster here makes the program 8.5 % faster [7.5, 9.5]");
  }
  SECTION("no slope of a curve that is not straight") {
    deflate.slope = Interval{0.68, 0.66, 0.69};
    deflate.summary = {point(0.2, 0.189, 0.02), point(0.55, 0.45, 0.0125),
                       point(0.88, 0.511, 0.014)};
    CHECK(finding(deflate) ==
          "deflate: 55 % faster here makes the program 45.0 % faster [43.8, 46.2]");
  }
  SECTION("no interval beyond what the unit can give") {
    deflate.slope = Interval{0.98, 0.9, 1.06};
    deflate.summary.clear();
    CHECK(finding(deflate) ==
          "deflate: 10 % faster here makes the program 9.8 % faster [9.0, 10.0]");
  }
  SECTION("what was gained without a pause is computed, not tried") {
    Report report = example();
    report.selfcheck.tested.paused = 0;
    CHECK_THAT(render_text(report, false, 100),
               Catch::Contains("a thread paused in 0: what is gained is computed"));
    report.selfcheck.tested.sampled = 0;
    CHECK_THAT(render_text(report, false, 100), !Catch::Contains("is computed"));
  }
  SECTION("a slowdown that is not known with its interval is not told") {
    Report report = example();
    report.slowdown_low.reset();
    CHECK(render_text(report, false, 100).find("costs the target") == std::string::npos);
  }
}

TEST_CASE("what is everybody's caller is no finding", "[report]") {
  Report report = example();
  report.progress.pop_back();
  report.progress[0].units[0].everybodys_caller = true;
  const auto finding = [&] {
    const std::string text = render_text(report, false, 100);
    return text.substr(0, text.find('\n'));
  };
  CHECK(finding().find(report.progress[0].units[1].unit) == 0);
  report.progress[0].units.resize(1);
  CHECK(finding() ==
        "No finding: of the code in scope only what starts the program and calls all the rest "
        "matters.");
}

TEST_CASE("no line of a table is wider than asked for", "[report]") {
  Report report = example();
  report.progress[0].units[0].unit = std::string(300, 'x') + ".c:1";
  report.progress[0].units[0].function = std::string(300, 'y');
  const int width = GENERATE(60, 100, 200);
  std::istringstream text(render_text(report, false, width));
  std::string line;
  bool in_table = false;
  while (std::getline(text, line)) {
    if (line.find("  # unit") == 0) in_table = true;
    if (line.empty()) in_table = false;
    if (in_table && line.find('[') == std::string::npos) {
      INFO(line);
      CHECK(columns(line) <= static_cast<std::size_t>(width));
    }
  }
}

TEST_CASE("JSON report", "[report]") {
  const std::string text = render_json(example());
  check_golden(text, "report.json");
  const auto json = nlohmann::json::parse(text);
  CHECK(json["version"] == 1);
  CHECK(json["progress"][0]["units"][4]["slope"].is_null());
  CHECK(json["progress"][1]["kind"] == "latency");

  const auto empty = nlohmann::json::parse(render_json(Report{}));
  CHECK(empty["selfcheck"]["null_effect"].is_null());
  CHECK(empty["overhead"]["slowdown"].is_null());
  CHECK(empty["target"]["digest"] == "unknown");
}
