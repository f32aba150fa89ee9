#include "controller/causal/record/unit_names.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/causal/analysis/run_groups.h"
#include "controller/causal/record/log.h"

namespace causalctl::causal {
namespace {

using Names = std::vector<std::string>;

Unit line(const std::string& name, const std::string& file, int number) {
  return {name, true, "f", file, number};
}

Unit function(const std::string& name, const std::string& file, const std::string& module = "") {
  return {name, false, "parse", file, 7, module};
}

Run run_with(const std::string& id, const std::vector<Unit>& units) {
  Run run;
  run.id = id;
  for (const Unit& unit : units) {
    run.samples.push_back({unit, 100, 10});
    run.experiments.emplace_back().unit = unit;
  }
  return run;
}

Names names_in(const Run& run) {
  Names names;
  for (std::size_t i = 0; i < run.samples.size(); ++i) {
    names.push_back(run.samples[i].unit.name);
    CHECK(run.experiments[i].unit.name == run.samples[i].unit.name);
  }
  return names;
}

TEST_CASE("a unit is its place, not its name", "[causal][units]") {
  CHECK(identity_of(line("u.c:10", "/a/u.c", 10)) != identity_of(line("u.c:10", "/b/u.c", 10)));
  CHECK(identity_of(line("u.c:10", "/a/u.c", 10)) == identity_of(line("a/u.c:10", "/a/u.c", 10)));
  CHECK(identity_of(function("parse", "/a/u.c")) != identity_of(function("parse", "/b/u.c")));
  CHECK(identity_of(function("parse", "", "liba.so")) !=
        identity_of(function("parse", "", "libb.so")));
  // A function in a file is the same one, wherever it was linked to.
  CHECK(identity_of(function("parse", "/a/u.c", "liba.so")) ==
        identity_of(function("parse", "/a/u.c", "libb.so")));
  CHECK(identity_of(function("parse", "/a/u.c")) != identity_of(line("u.c:7", "/a/u.c", 7)));
}

TEST_CASE("what a unit can be called", "[causal][units]") {
  CHECK(names_of(line("u.c:10", "/a/u.c", 10)) == Names{"u.c:10", "a/u.c:10", "/a/u.c:10"});
  CHECK(names_of(line("u.c:10", "u.c", 10)) == Names{"u.c:10"});
  CHECK(names_of(function("parse", "/u.c")) == Names{"parse", "u.c:parse", "/u.c:parse"});
  CHECK(names_of(function("parse", "", "liba.so")) == Names{"parse", "liba.so:parse"});
  CHECK(names_of({"parse", false, "", "", 0}) == Names{"parse"});
  const auto taken = [](const std::string& name) { return name == "u.c:10"; };
  CHECK(free_name(line("u.c:10", "u.c", 10), taken) == "./u.c:10");
}

TEST_CASE("which function a name means", "[causal][units]") {
  const std::vector<Unit> units = {function("parse", "/src/json.c", "server"),
                                   function("parse", "/src/xml.c", "server"),
                                   function("parse", "", "libx.so")};
  CHECK(meant(units, "parse").size() == 3);
  CHECK(meant(units, "server:parse").size() == 2);
  CHECK(meant(units, "other.c:parse").empty());
  REQUIRE(meant(units, "xml.c:parse").size() == 1);
  CHECK(meant(units, "xml.c:parse")[0].file == "/src/xml.c");
  REQUIRE(meant(units, "libx.so:parse").size() == 1);
  CHECK(meant(units, "libx.so:parse")[0].module == "libx.so");
}

TEST_CASE("runs that met the files of one name in another order agree", "[causal][units]") {
  std::vector<Run> runs = {
      run_with("1", {line("u.c:10", "/a/u.c", 10), line("b/u.c:10", "/b/u.c", 10)}),
      run_with("2", {line("u.c:10", "/b/u.c", 10), line("a/u.c:10", "/a/u.c", 10)}),
      run_with("3", {line("u.c:10", "/b/u.c", 10), line("w.c:1", "/a/w.c", 1)}),
  };
  join_units(runs);
  CHECK(names_in(runs[0]) == Names{"a/u.c:10", "b/u.c:10"});
  CHECK(names_in(runs[1]) == Names{"b/u.c:10", "a/u.c:10"});
  CHECK(names_in(runs[2]) == Names{"b/u.c:10", "w.c:1"});
  const auto once = names_in(runs[2]);
  join_units(runs);
  CHECK(names_in(runs[2]) == once);
}

TEST_CASE("functions of one name in two files are two units", "[causal][units]") {
  std::vector<Run> runs = {run_with("1", {function("parse", "/src/json.c")}),
                           run_with("2", {function("parse", "/src/xml.c")}),
                           run_with("3", {function("parse", "", "libx.so")})};
  join_units(runs);
  CHECK(names_in(runs[0]) == Names{"json.c:parse"});
  CHECK(names_in(runs[1]) == Names{"xml.c:parse"});
  CHECK(names_in(runs[2]) == Names{"libx.so:parse"});
}

TEST_CASE("names that mean one unit stay as they are", "[causal][units]") {
  std::vector<Run> runs = {
      run_with(
          "1",
          {line("u.c:10", "/a/u.c", 10), line("mine", "/b/x.c", 3), {"bare", true, "", "", 0}}),
      run_with("2", {line("u.c:10", "/a/u.c", 10), line("u.c:11", "/b/u.c", 11)}),
      run_with("3", {{"u.c:10", true, "", "", 0}}),  // a log without more information
  };
  join_units(runs);
  CHECK(names_in(runs[0]) == Names{"u.c:10", "mine", "bare"});
  CHECK(names_in(runs[1]) == Names{"u.c:10", "u.c:11"});
  CHECK(names_in(runs[2]) == Names{"u.c:10"});
}

TEST_CASE("a name alone joins the one unit that has it, and no one of two", "[causal][units]") {
  std::vector<Run> runs = {run_with("1", {line("u.c:10", "/a/u.c", 10)}),
                           run_with("2", {line("u.c:10", "/b/u.c", 10)}),
                           run_with("3", {{"u.c:10", true, "", "", 0}})};
  join_units(runs);
  CHECK(names_in(runs[0]) == Names{"a/u.c:10"});
  CHECK(names_in(runs[1]) == Names{"b/u.c:10"});
  CHECK(names_in(runs[2]) == Names{"u.c:10"});
}

TEST_CASE("a report of two logs keeps two files of one name apart", "[causal][units][log]") {
  const auto log = [](const std::string& run, const std::string& file) {
    const std::string unit = R"("run":")" + run + R"(","unit":"u.c:10","kind":"line","file":")" +
                             file + R"(","line":10)";
    return R"({"type":"experiment",)" + unit + R"(,"speedup":0.5,"samples":1})" + "\n" +
           R"({"type":"samples",)" + unit + R"(,"count":50})" + "\n" + R"({"type":"end","run":")" +
           run + R"("})" + "\n";
  };
  const auto runs_of = [](const std::string& text) {
    const auto groups = group_runs(parse_log(text, "log").runs);
    REQUIRE(groups.size() == 1);
    return groups[0].runs;
  };
  const auto two = runs_of(log("1", "/a/u.c") + log("2", "/b/u.c"));
  REQUIRE(two.size() == 2);
  CHECK(two[0].samples[0].unit.name == "a/u.c:10");
  CHECK(two[1].experiments[0].unit.name == "b/u.c:10");
  const auto one = runs_of(log("1", "/a/u.c") + log("2", "/a/u.c"));
  CHECK(one[1].samples[0].unit.name == "u.c:10");
}

}  // namespace
}  // namespace causalctl::causal
