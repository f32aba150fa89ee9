#include "controller/report/causal/render.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "controller/report/causal/finding_words.h"
#include "controller/report/text.h"
#include "tests/support/golden.h"

namespace causalctl::report {

using test::check_golden;

namespace {

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
  Finding& finding = report.finding;
  finding.kind = Finding::Kind::optimise;
  finding.point = "process_command";
  finding.unit = "hash.c:217";
  finding.function = "hashtable_search";
  finding.speedup = 0.1;
  finding.effect = {0.021, 0.017, 0.025};
  finding.bound = 0.006;
  finding.reasons = {
      {Reason::Kind::self_check, "process_command", 0.006, 0, Interval{-0.001, -0.006, 0.005}},
      {Reason::Kind::sampling_cost, "", 0, 0.024, Interval{0.013, 0.002, 0.024}}};
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
  report.overhead.slowdown = 0.013;
  report.overhead.slowdown_low = 0.002;
  report.overhead.slowdown_high = 0.024;
  report.overhead.controller_cpu_share = 0.021;
  report.overhead.sample_ns = 12'500;
  report.overhead.slowdown_by_samples = 0.002;
  report.overhead.attach_stop_ns = 250'000;
  report.overhead.sample_to_pause_p50_ns = 1'200'000;
  report.overhead.sample_to_pause_p99_ns = 2'300'000;
  report.overhead.period_ns = 1'000'000;
  report.experiments = 312;
  report.experiments_discarded = 4;
  report.losses.samples_unknown = 3;
  report.losses.samples_total = 35'804;
  report.losses.throttles = 12;
  report.losses.stacks_copied_in_part = 1'024;
  report.digest = DigestResult::same;
  report.oversubscribed_share = 0.012;
  report.foreign_share = 0.004;
  report.peers = {"client (process 17)", "proxy (process 9)"};
  report.facilities = {{"sample", "seen"}, {"wake-up", "never-fired"}};
  report.warnings = {Warning("profile.jsonl:17: the line is cut off; it is ignored")};
  report.executable = "/srv/server-1.2";
  report.started_as = "server";
  report.reason = EndReason::duration;
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
  const auto head = [&] {
    const std::string text = render_text(report, false, 100);
    return text.substr(0, text.find('\n'));
  };
  report.progress.pop_back();
  Finding& finding = report.finding;
  finding = {};
  finding.kind = Finding::Kind::no_effect;
  finding.most = 0.0312;
  finding.measured = 12;
  finding.measured_share = 0.87;
  CHECK(
      head() ==
      "Nothing that was measured gains more than 3.2 %, however fast it is made (12 units, 87 % of "
      "the samples).");
  finding.failed = {{Reason::Kind::target_changed}};
  CHECK_THAT(head(), Catch::StartsWith("The target is not as it was before. Nothing that was"));
  finding = {};
  CHECK(head() == "Undecided.");
  finding.reasons = {{Reason::Kind::self_check, "work", 0.108, 0, Interval{0.02, -0.05, 0.108}},
                     {Reason::Kind::noise, "hash", 0.21}};
  finding.most = 0.3;
  finding.helps = {{Help::Kind::longer, 200 * kSecond, 0.1}, {Help::Kind::quieter}};
  CHECK(
      head() ==
      "Undecided: effects of up to 30.0 % are possible: without any speedup the experiments agree "
      "only to [-5.0, 10.8] % (work); the effect of hash made 50 % faster is known to ±21 points "
      "only. What would help: a run of about 4 min (for ±10 points), or a quieter machine or "
      "cores of its own (taskset).");
  finding = {};
  finding.kind = Finding::Kind::only_callers;
  CHECK(head() ==
        "No finding: of the code in scope only what starts the program and calls all the rest "
        "matters.");
  finding = {};
  finding.kind = Finding::Kind::contention;
  finding.point = "request";
  finding.latency = true;
  finding.unit = "acquire";
  finding.speedup = 0.1;
  finding.effect = {-0.015, -0.018, -0.012};
  CHECK(head() == "acquire: 10 % faster here makes request take 1.5 % more time [1.2, 1.8]");
  finding.latency = false;
  CHECK(head() == "acquire: 10 % faster here makes the program 1.5 % slower [1.2, 1.8]");
  report.progress.push_back(report.progress.front());
  CHECK(head() == "acquire: 10 % faster here makes the program 1.5 % slower [1.2, 1.8] (request)");
}

TEST_CASE("each reason and each help has its own words", "[report]") {
  std::set<std::string> words;
  std::size_t kinds = 0;
  for (std::size_t kind = 0; kind < names_of(Reason::Kind{}).size(); ++kind, ++kinds) {
    words.insert(words_of(Reason{static_cast<Reason::Kind>(kind), "x"}));
  }
  for (std::size_t kind = 0; kind < names_of(Help::Kind{}).size(); ++kind, ++kinds) {
    words.insert(words_of(Help{static_cast<Help::Kind>(kind)}));
  }
  CHECK(words.size() == kinds);
  CHECK(words.count("") == 0);
}

TEST_CASE("the report leads with where the samples are, if the scope has few", "[report]") {
  Report report = example();
  report.scope = {0.02,
                  {{"libpython3.11.so.1.0", 0.9, 0.01, "--scope-binary 'libpython3.11*'"}},
                  "90 % of the samples are in libpython3.11.so.1.0"};
  report.warnings.emplace_back(report.scope.lead);
  const std::string text = render_text(report, false, 100);
  CHECK(text.substr(0, text.find('\n')) == report.scope.lead);
  CHECK(text.find(report.scope.lead, 1) == std::string::npos);
  const auto json = nlohmann::json::parse(render_json(report));
  CHECK(json["scope"]["enough"] == false);
  CHECK(json["scope"]["elsewhere"][0]["option"] == "--scope-binary 'libpython3.11*'");
  CHECK(json["warnings"].back() == report.scope.lead);
}

TEST_CASE("what is known in part is told in part", "[report]") {
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
    report.overhead.slowdown_low.reset();
    CHECK(render_text(report, false, 100).find("costs the target") == std::string::npos);
  }
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
  CHECK(json["finding"]["unit"] == "hash.c:217");

  const auto empty = nlohmann::json::parse(render_json(Report{}));
  CHECK(empty["selfcheck"]["null_effect"].is_null());
  CHECK(empty["overhead"]["slowdown"].is_null());
  CHECK(empty["finding"]["kind"] == "not-enough-data");
  CHECK(empty["finding"]["most"].is_null());
  CHECK(render_text(example(), false, 100)
            .starts_with(json["finding"]["statement"].get<std::string>() + "\n"));
  CHECK(json["finding"]["reasons"][0]["reason"] == "self-check");
  CHECK(empty["target"]["digest"] == "unknown");
}

}  // namespace causalctl::report
