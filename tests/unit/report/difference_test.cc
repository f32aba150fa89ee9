#include "controller/report/callpath/difference.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "controller/callpath/analysis/present_sides.h"
#include "controller/report/callpath/render.h"
#include "controller/report/text.h"
#include "tests/support/golden.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::report::callpath {
namespace {

using Catch::Contains;
using causalctl::callpath::Metric;
using causalctl::callpath::Recording;
using nlohmann::json;
using test::check_golden;

Recording ten_times(Recording run) {
  for (auto& [key, slice] : run.slices) {
    for (auto& [node, value] : slice) value *= 10;
  }
  return run;
}

// libz is twice as dear in the new build, which does half of what was done under main's line 12.
Sides changed(const std::string& per = "") {
  Recording before = ten_times(causalctl::callpath::small_recording());
  causalctl::callpath::cut(before, 10);
  Recording after = ten_times(causalctl::callpath::other_build(1));
  for (auto& [key, slice] : after.slices) {
    for (auto& [node, value] : slice) {
      if (after.tree.node(node).location == 6) value *= 2;
      if (value == 200 || value == 200'000'000) value = value * 9 / 10;
    }
  }
  causalctl::callpath::cut(after, 10);
  after.warnings = {"a warning"};
  return causalctl::callpath::present_sides({before}, {after}, {"", "", per});
}

// Two recordings of a program with functions of random shares; in the new one the first is dearer.
Sides drawn(std::mt19937_64& random, double dearer) {
  constexpr std::size_t kFunctions = 40;
  constexpr std::size_t kSeconds = 10;
  Sides sides;
  sides.metric = {"samples", "samples", "Samples"};
  sides.profile.nodes = {{}};
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    Frame frame;
    frame.function = "f" + std::to_string(i);
    sides.profile.frames.push_back(frame);
    sides.profile.nodes.push_back({0, i});
  }
  std::size_t column = 0;
  for (Side* side : {&sides.before, &sides.after}) {
    std::vector<double> weights;
    for (std::size_t i = 0; i < kFunctions; ++i) weights.push_back(1.0 + double(i % 7));
    if (side == &sides.after) weights[0] *= dearer;
    std::discrete_distribution<std::size_t> function(weights.begin(), weights.end());
    const std::size_t samples = column + kSeconds;
    sides.profile.own.resize(samples + 1, std::vector<std::uint64_t>(kFunctions + 1));
    for (std::size_t second = 0; second < kSeconds; ++second) {
      for (int i = 0; i < 500; ++i) {
        const std::size_t node = 1 + function(random);
        ++sides.profile.own[column][node];
        ++sides.profile.own[samples][node];
      }
      side->parts.push_back(column++);
    }
    side->samples = column++;
  }
  sides.profile.columns.assign(column, sides.metric);
  return sides;
}

}  // namespace

TEST_CASE("texts of changes are as in the golden files", "[report][callpath][difference]") {
  check_golden(render_difference_text(changed(), By::overview, false, 100),
               "callpath/difference.txt");
  check_golden(render_difference_text(changed("second"), By::function, true, 100),
               "callpath/difference_second.txt");
  check_golden(render_difference_text(changed(), By::line, false, 80),
               "callpath/difference_line.txt");
  check_golden(render_difference_text(changed(), By::path, false, 100),
               "callpath/difference_path.txt");
}

TEST_CASE("texts of changes fit their width", "[report][callpath][difference]") {
  Sides sides = changed();
  for (Frame& frame : sides.profile.frames) frame.function = std::string(90, 'f');
  for (const By by : {By::overview, By::function, By::line, By::path}) {
    std::istringstream lines(render_difference_text(sides, by, false, 90));
    for (std::string line; std::getline(lines, line);) CHECK(columns(line) <= 90);
  }
}

TEST_CASE("the JSON of changes has rows and their certainty", "[report][callpath][difference]") {
  const std::string text = render_difference_json(changed());
  check_golden(text, "callpath/difference.json");
  const json report = json::parse(text);
  std::map<std::string, std::string> verdicts;
  for (const json& row : report["functions"]["rows"]) {
    verdicts[row["name"]] = row["own"].is_null() ? "-" : row["own"]["verdict"];
    const json& own = row["own"];
    if (own.is_null()) continue;
    CHECK(own["low"] <= own["difference"]);
    CHECK(own["difference"] <= own["high"]);
    CHECK((own["low"] > 0 || own["high"] < 0) == (own["p_value"] < 0.05));
  }
  CHECK(verdicts["[libz.so.1.3]"] == "more");
  CHECK(verdicts["c"] == "less");
  for (const json& row : report["paths"]["rows"]) {
    if (!row["parent"].is_null()) CHECK(row["parent"] < report["paths"]["rows"].size());
  }
}

TEST_CASE("two recordings of one program have no change that is certain",
          "[report][callpath][difference]") {
  std::mt19937_64 random(5);
  constexpr int kTrials = 400;
  int false_alarms = 0;
  std::size_t perhaps = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Sides sides = drawn(random, 1);
    const DifferenceTable table = table_of_changes(sides, by_function(sides.profile));
    REQUIRE(table.own.compared == 40);
    false_alarms += table.own.changed > 0;
    perhaps += table.own.perhaps;
  }
  // 5 % of the trials at most, and four standard errors.
  CHECK(false_alarms <= 0.05 * kTrials + 4 * std::sqrt(0.05 * 0.95 * kTrials));
  // 5 % of the rows at most would be; intervals that are much too wide would have none.
  CHECK(perhaps <= 0.06 * 40 * kTrials);
  CHECK(perhaps >= 0.015 * 40 * kTrials);
}

TEST_CASE("a function that becomes five times as dear is found", "[report][callpath][difference]") {
  std::mt19937_64 random(6);
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    const Sides sides = drawn(random, 5);
    const DifferenceTable table = table_of_changes(sides, by_function(sides.profile));
    found += table.own.rows[0].verdict == Verdict::more && ranked_changes(table.own)[0] == 0;
  }
  CHECK(found >= 95);
}

TEST_CASE("parts without a call count for the cost of a call", "[report][callpath][difference]") {
  Sides sides;
  sides.metric = {"cpu", "nanoseconds", "CPU time"};
  sides.per = sides.per_title = "count:round";
  Frame frame;
  frame.function = "work";
  sides.profile.frames = {frame};
  sides.profile.nodes = {{}, {0, 0}};
  std::size_t column = 0;
  // A call takes three parts before, and six after.
  for (Side* side : {&sides.before, &sides.after}) {
    for (std::size_t i = 0; i < 6; ++i) {
      sides.profile.own.push_back({0, 100});
      side->parts.push_back(column++);
      side->bases.push_back(i == 5 || (i == 2 && side == &sides.before) ? 1 : 0);
    }
  }
  sides.profile.columns.assign(column, sides.metric);
  check_comparable(sides);
  const Change change = change_of_all(sides);
  CHECK(change.before == Approx(300));
  CHECK(change.after == Approx(600));
  sides.after.bases.assign(6, 0);
  CHECK_THROWS_WITH(check_comparable(sides), Contains("the recording has none"));
}

TEST_CASE("recordings that are too short for parts say so", "[report][callpath][difference]") {
  Recording before = causalctl::callpath::small_recording();
  Recording after = causalctl::callpath::other_build(2);
  for (Recording* run : {&before, &after}) run->add({0, 0, Metric::blocked_ns}, 2, 1'000'000'000);
  const Sides waits = causalctl::callpath::present_sides({before}, {after}, {"", "blocked", ""});
  const DifferenceTable table = table_of_changes(waits, by_function(waits.profile));
  CHECK(table.own.compared == 0);
  const std::string text = render_difference_text(waits, By::overview, false, 100);
  CHECK_THAT(text, Contains("The recordings have too few parts"));
  CHECK_THAT(text, Contains("100.0 %       0.0                              b(int)"));
  CHECK_THAT(render_difference_text(changed(), By::overview, false, 100),
             !Contains("The recordings have too few parts"));
}

TEST_CASE("the page has both recordings, and colours of what changed",
          "[report][callpath][difference][page]") {
  const std::string page = render_difference_html(changed());
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const json data = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  REQUIRE(data["columns"].size() == 2);
  CHECK(data["columns"][1]["title"] == "CPU time before");
  CHECK(data["columns"][1]["total"] == 1'000'000'000);
  CHECK(data["difference"]["bases"][1] == 1'000'000'000);
  CHECK(data["difference"]["changed"].size() == data["functions"]["name"].size());
}

}  // namespace causalctl::report::callpath
