// The formats of a report of input sizes.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "controller/inputs/analysis/present.h"
#include "controller/report/inputs/plot.h"
#include "controller/report/inputs/render.h"
#include "controller/report/inputs/words.h"
#include "controller/report/text.h"
#include "tests/support/golden.h"
#include "tests/unit/inputs/logs.h"

namespace causalctl::report::inputs {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using causalctl::inputs::Choice;
using causalctl::inputs::Recording;
namespace logs = causalctl::inputs::test;

const std::string kHostile = "<img src=x onerror=alert(1)>\"\x1b[31m\xff";

// Everything that a report may have: a program whose routines differ in growth, of which one is
// seen otherwise by rms, and one has a name that a terminal or a page would obey.
Recording rich_recording() {
  Recording recording = logs::quadratic_program();
  const std::size_t select = logs::add_routine(recording, "select");
  for (std::uint64_t rms = 10; rms < 300; rms += 10) {
    const std::uint64_t trms = rms * rms;
    logs::add_call(recording, select, 1, {trms, rms, 7, 7, true, trms - rms, 0});
  }
  for (std::uint64_t rms = 10; rms < 300; rms += 10) {
    const std::uint64_t trms = rms * rms;
    logs::add_call(recording, select, 1, {trms, rms, 7 * trms, 7 * trms, true, 0, trms - rms});
  }
  logs::add_plain(recording, logs::add_routine(recording, kHostile), 3, 5);
  logs::add_plain(recording, logs::add_routine(recording, ""), 3, 5);
  recording.events_lost = 7;
  recording.total = {8'000'000, 32'000'000};
  return recording;
}

Profile rich_profile(const Choice& choice = {}) {
  Profile profile = causalctl::inputs::present(std::array{rich_recording()}, choice);
  profile.logs = "inputs.jsonl";
  profile.warnings = {"inputs.jsonl:17: the line is cut off; it is ignored"};
  return profile;
}

Profile calm_profile(std::uint64_t sizes) {
  Recording recording = logs::empty_recording();
  const std::size_t f = logs::add_routine(recording, "f");
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < sizes; ++i) {
    const std::uint64_t size = 10 << i;
    logs::add_plain(recording, f, size, 3 * size);
    total += 3 * size;
  }
  logs::end(recording, total);
  Profile profile = causalctl::inputs::present(std::array{recording}, {});
  profile.logs = "inputs.jsonl";
  return profile;
}

// Returns the profile with the first sizes only, so that its golden file can be read.
Profile abridged(Profile profile) {
  constexpr std::size_t kKept = 2;
  for (Routine& routine : profile.routines) {
    for (auto& rows : routine.rows) rows.resize(std::min(kKept, rows.size()));
    for (auto& by_cost : routine.growth) {
      for (auto& by_of : by_cost) {
        for (Growth& growth : by_of) growth.line.resize(std::min(kKept, growth.line.size()));
      }
    }
  }
  return profile;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

const Routine& routine_named(const Profile& profile, const std::string& name) {
  return *std::find_if(profile.routines.begin(), profile.routines.end(),
                       [&](const Routine& each) { return each.name == name; });
}

// A report of aprof as its plotter reads it: routines by number, points by routine.
struct AprofReport {
  struct Point {
    std::size_t routine = 0;
    std::vector<std::uint64_t> numbers;
  };
  std::map<std::string, std::string> head;
  std::vector<std::pair<std::string, std::string>> routines;  // name, file
  std::vector<Point> points;
};

AprofReport read_aprof(const std::string& text) {
  AprofReport report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    REQUIRE(line.size() > 2);
    REQUIRE(line[1] == ' ');
    std::istringstream words(line.substr(2));
    if (line[0] == 'r') {
      const std::size_t name_end = line.find('"', 3);
      const std::size_t file_begin = line.find('"', name_end + 1) + 1;
      const std::size_t file_end = line.find('"', file_begin);
      REQUIRE(file_end != std::string::npos);
      CHECK(std::stoul(line.substr(file_end + 1)) == report.routines.size());
      report.routines.emplace_back(line.substr(3, name_end - 3),
                                   line.substr(file_begin, file_end - file_begin));
    } else if (line[0] == 'p') {
      AprofReport::Point point;
      words >> point.routine;
      for (std::uint64_t number = 0; words >> number;) point.numbers.push_back(number);
      report.points.push_back(point);
    } else {
      report.head[line.substr(0, 1)] = line.substr(2);
    }
  }
  return report;
}

}  // namespace

TEST_CASE("Input text: as in the golden files", "[inputs][report]") {
  const Profile profile = rich_profile();
  causalctl::test::check_golden(render_text(profile, {false, 100, false}), "inputs/report.txt");
  causalctl::test::check_golden(render_text(profile, {true, 80, true}), "inputs/terminal.txt");
  causalctl::test::check_golden(
      render_routine_text(profile, routine_named(profile, "select"), {false, 80, false}),
      "inputs/routine.txt");
}

TEST_CASE("Input text: the first line is the verdict", "[inputs][report]") {
  const TextOptions options{false, 80, false};
  const std::string fast = first_line(render_text(rich_profile(), options));
  CHECK_THAT(fast,
             StartsWith("sort_rows grows with n²") && Contains("% of the run; if each call had "
                                                               "ten times its input the "
                                                               "program would execute"));
  CHECK_THAT(first_line(render_text(calm_profile(8), options)),
             StartsWith("no routine of the 1 with a clear growth grows faster than n log n; if "
                        "each call had ten times its input the program would execute 10 [10, 10] "
                        "times"));
  const std::string few = render_text(calm_profile(7), options);
  CHECK_THAT(first_line(few), StartsWith("too few sizes: none of 1 routines"));
  CHECK_THAT(few, Contains("next: causalctl inputs run -o inputs.jsonl -- ./program 1"));
  CHECK_THAT(first_line(render_text(Profile{}, options)), StartsWith("nothing was recorded"));
}

TEST_CASE("Input text: a terminal is not obeyed, and its width is kept", "[inputs][report]") {
  const Profile profile = rich_profile();
  for (const int width : {80, 120}) {
    std::istringstream lines(render_text(profile, {false, width, true}));
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      // A command that can be pasted is not cut.
      if (!line.starts_with("next: ")) CHECK(columns(line) <= static_cast<std::size_t>(width));
    }
  }
  for (const std::string& text :
       {render_text(profile, {false, 80, true}),
        render_routine_text(profile, profile.routines.back(), {false, 80, false}),
        render_csv(profile), render_aprof(profile)}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\xff') == std::string::npos);
  }
}

TEST_CASE("Input JSON: complete, and of both costs", "[inputs][report]") {
  const std::string text =
      render_json(abridged(rich_profile({Metric::trms, CostUnit::blocks, true})));
  causalctl::test::check_golden(text, "inputs/report.json");
  const auto json = nlohmann::json::parse(text);
  CHECK(json["verdict"].get<std::string>().starts_with("sort_rows grows with"));
  CHECK(json["routines"].size() == 7);
  CHECK(json["routines"][0]["growth"].size() == 12);
}

TEST_CASE("Input CSV: one row a size", "[inputs][report]") {
  const Profile profile = rich_profile();
  const std::string text = render_csv(profile);
  std::size_t rows = 1;
  for (const Routine& routine : profile.routines) {
    for (const auto& each : routine.rows) rows += each.size();
  }
  CHECK(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) == rows);
  const std::string head = first_line(text);
  CHECK(std::count(head.begin(), head.end(), ',') == 25);
  CHECK_THAT(text, Contains("\"main\",\"/bin/program\",0,trms,1000,1,"));
}

TEST_CASE("Input aprof: what is written is read back", "[inputs][report]") {
  const auto metric = GENERATE(Metric::trms, Metric::rms);
  const Profile profile = rich_profile({metric, CostUnit::instructions, false});
  const AprofReport report = read_aprof(render_aprof(profile));
  CHECK(report.head.at("v") == "6");
  CHECK(report.head.at("k") == "32000000");
  CHECK(report.head.at("i") == (metric == Metric::trms ? "drms" : "rms"));
  CHECK(report.head.at("t") == "4");
  CHECK(report.head.at("a") == "./program");
  CHECK(report.head.at("f") == "./program 1");
  REQUIRE(report.routines.size() == profile.routines.size());
  std::size_t next = 0;
  for (std::size_t id = 0; id < profile.routines.size(); ++id) {
    const Routine& routine = profile.routines[id];
    if (routine.name != kHostile) CHECK(report.routines[id].first == routine.name);
    CHECK(report.routines[id].second == routine.module);
    for (const SizeRow& row : routine.rows[static_cast<std::size_t>(metric)]) {
      REQUIRE(next < report.points.size());
      const AprofReport::Point& point = report.points[next++];
      const auto& cost = row.cost[1];
      const auto& own = row.own[1];
      std::vector<std::uint64_t> numbers = {row.size,
                                            cost.min,
                                            cost.max,
                                            cost.sum,
                                            static_cast<std::uint64_t>(cost.sum_of_squares),
                                            row.calls,
                                            row.outermost[1],
                                            own.sum,
                                            own.min,
                                            own.max,
                                            static_cast<std::uint64_t>(own.sum_of_squares)};
      if (metric == Metric::trms) {
        for (const std::uint64_t each : {std::uint64_t{0}, std::uint64_t{0}, row.external,
                                         row.thread, std::uint64_t{0}, std::uint64_t{0}}) {
          numbers.push_back(each);
        }
      }
      CHECK(point.routine == id);
      CHECK(point.numbers == numbers);
    }
  }
  CHECK(next == report.points.size());
}

TEST_CASE("Input aprof: sizes at which its plotter would stop are left out", "[inputs][report]") {
  Recording recording = logs::empty_recording();
  const std::size_t f = logs::add_routine(recording, "f");
  logs::add_plain(recording, f, 2'147'483'647, 1);
  logs::add_plain(recording, f, 2'147'483'648, 1);
  const std::string text = render_aprof(causalctl::inputs::present(std::array{recording}, {}));
  CHECK(read_aprof(text).points.size() == 1);
  CHECK_THAT(text, Contains("c 1 sizes are left out"));
}

TEST_CASE("Input words: forecasts", "[inputs][report]") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(times_words({37.2, 29.6, 1234.5}) == "37 [30, 1,235] times");
  CHECK(times_words({1, 1, 1}) == "1.0 [1.0, 1.0] times");
  CHECK(times_words({2e6, 1000, infinite}) ==
        "more than a million [1,000, more than a million] times");
  CHECK(times_words({infinite, 1e7, infinite}) == "more than a million times");
}

TEST_CASE("Input plots: corners, and what cannot be drawn", "[inputs][report]") {
  Plot plot;
  plot.x_name = "x";
  plot.y_name = "y";
  CHECK(draw(plot, 60, 5).empty());
  plot.points = {{1, 10}, {100, 1000}};
  plot.curve = {{10, 100}};
  plot.is_logarithmic = true;
  const std::vector<std::string> lines = draw(plot, 60, 5);
  REQUIRE(lines.size() == 8);
  for (const std::string& line : lines) CHECK(columns(line) <= 60);
  CHECK(lines[1].ends_with("●"));
  CHECK_THAT(lines[1], StartsWith("    1,000 │"));
  CHECK_THAT(lines[5], StartsWith("       10 │●"));
  CHECK_THAT(lines[3], Contains("·"));  // the middle of both axes
  plot.points = {{0, 0}, {-1, 5}};
  CHECK(draw(plot, 60, 5).empty());
  plot.points = {{5, 5}};
  CHECK(draw(plot, 60, 5).size() == 8);
}

}  // namespace causalctl::report::inputs
