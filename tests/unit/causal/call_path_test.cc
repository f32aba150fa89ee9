#include "controller/causal/record/call_path.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/causal/engine/path_unit.h"
#include "controller/causal/record/unit_names.h"

namespace causalctl::causal {
namespace {

std::vector<std::string> names(const char* text) {
  std::vector<std::string> all;
  for (const WrittenStep& step : written_steps(text)) {
    all.push_back((step.through ? "..." : "") + step.name);
  }
  return all;
}

CallPath path_of(const char* text) {
  CallPath path;
  for (const WrittenStep& step : written_steps(text)) {
    PathStep wanted{step.name, "", "server"};
    wanted.through = step.through;
    path.steps.push_back(wanted);
  }
  path.unit.name = text;
  return path;
}

// A place with these functions, innermost first: inlined ones, then the one that has the code.
symbols::Location place(const std::vector<std::string>& functions,
                        const std::string& module = "/bin/server") {
  symbols::Location location{.address = 1, .module = module};
  for (const std::string& function : functions)
    location.frames.push_back({function, "/src/a.c", 1});
  return location;
}

// What a sample in these places is, of which the first one was executed and each was called by the
// next.
OnPath answer(const CallPath& path, const std::vector<std::vector<std::string>>& places,
              bool complete = true) {
  PathUnit unit(path, 0);
  if (!unit.begin(path_frames(place(places[0]), 0, path))) return OnPath::no;
  for (std::size_t i = 1; i < places.size(); ++i) {
    unit.add(path_frames(place(places[i]), 0, path));
  }
  return unit.decide(complete);
}

}  // namespace

TEST_CASE("a call path is written with blanks around <", "[causal][call_path]") {
  using Names = std::vector<std::string>;
  CHECK(names("memcpy < reply") == Names{"memcpy", "reply"});
  CHECK(names("a  <  b < c") == Names{"a", "b", "c"});
  CHECK(names("a < ... < b") == Names{"a", "...b"});
  for (const char* one : {"memcpy", "operator<", "std::less<int>", "a<b", "operator<(A, B)",
                          "bool operator< <int>(A<int>, A<int>)", "a <b", "f.c:12"}) {
    INFO(one);
    CHECK(names(one).empty());
  }
  CHECK(names("operator< < std::less<int>::operator()(int, int) const < sort<int>") ==
        Names{"operator<", "std::less<int>::operator()(int, int) const", "sort<int>"});
  CHECK(names(" < b") == Names{"", "b"});
  CHECK(names("a < ") == Names{"a", ""});
  CHECK(names("... < b") == Names{"", "b"});
  CHECK(names("a < ...") == Names{"a", ""});
  CHECK(text_of(written_steps("a  <  ... < b <  c")) == "a < ... < b < c");
}

TEST_CASE("a sample is on a path if its callers are those of the path", "[causal][call_path]") {
  const CallPath path = path_of("work < often");
  CHECK(answer(path, {{"work"}, {"often"}, {"main"}}) == OnPath::yes);
  CHECK(answer(path, {{"work"}, {"rarely"}, {"often"}}) == OnPath::no);
  CHECK(answer(path, {{"other"}, {"often"}}) == OnPath::no);
  CHECK(answer(path, {{"work"}}) == OnPath::no);
  CHECK(answer(path_of("work < often < main"), {{"work"}, {"often"}, {"main"}}) == OnPath::yes);
  CHECK(answer(path_of("work < often < main"), {{"work"}, {"often"}, {"often"}, {"main"}}) ==
        OnPath::no);
}

TEST_CASE("a chain that is cut off decides only what it tells", "[causal][call_path]") {
  CHECK(answer(path_of("work < often"), {{"work"}}, false) == OnPath::unknown);
  CHECK(answer(path_of("work < often"), {{"work"}, {"rarely"}}, false) == OnPath::no);
  CHECK(answer(path_of("work < often"), {{"work"}, {"often"}}, false) == OnPath::yes);
  CHECK(answer(path_of("work < often < main"), {{"work"}, {"often"}}, false) == OnPath::unknown);
  CHECK(answer(path_of("work < ... < main"), {{"work"}, {"often"}}, false) == OnPath::unknown);
  CHECK(answer(path_of("work < ... < often"), {{"work"}, {"often"}}, false) == OnPath::yes);
}

TEST_CASE("a gap in a path stands for any calls", "[causal][call_path]") {
  const CallPath path = path_of("work < ... < main");
  CHECK(answer(path, {{"work"}, {"a"}, {"b"}, {"main"}}) == OnPath::yes);
  CHECK(answer(path, {{"work"}, {"main"}}) == OnPath::yes);
  CHECK(answer(path, {{"work"}, {"a"}}) == OnPath::no);
  // The first candidate is not called by c, but the second one is.
  const CallPath further = path_of("work < ... < b < c");
  CHECK(answer(further, {{"work"}, {"b"}, {"x"}, {"b"}, {"c"}}) == OnPath::yes);
  CHECK(answer(further, {{"work"}, {"b"}, {"x"}, {"c"}}) == OnPath::no);
}

TEST_CASE("functions that were inlined are callers and callees, too", "[causal][call_path]") {
  const CallPath path = path_of("work < often");
  CHECK(answer(path, {{"work", "often", "main"}}) == OnPath::yes);
  CHECK(answer(path, {{"helper", "work"}, {"often", "main"}}) == OnPath::yes);
  CHECK(answer(path, {{"helper", "work"}, {"main"}}) == OnPath::no);
  CHECK(answer(path, {{"work", "middle", "often"}}) == OnPath::no);
  CHECK(answer(path_of("work < ... < often"), {{"work", "middle", "often"}}) == OnPath::yes);
}

TEST_CASE("of a recursive function the innermost call counts", "[causal][call_path]") {
  CHECK(answer(path_of("work < often"), {{"work"}, {"work"}, {"often"}}) == OnPath::no);
  CHECK(answer(path_of("work < work"), {{"work"}, {"work"}, {"often"}}) == OnPath::yes);
  CHECK(answer(path_of("work < ... < often"), {{"work"}, {"work"}, {"often"}}) == OnPath::yes);
}

TEST_CASE("a step is a function of one binary, and of one file if several have it",
          "[causal][call_path]") {
  CallPath path = path_of("work < often");
  CHECK(path_frames(place({"work"}), 0, path).callee() == 0);
  CHECK(path_frames(place({"work"}, "/lib/libx.so"), 0, path).callee() == 1);
  path.steps[0].file = "/src/b.c";
  CHECK(path_frames(place({"work"}), 0, path).callee() == 1);
  path.steps[0].file = "/src/a.c";
  CHECK(path_frames(place({"work"}), 0, path).callee() == 0);
  // A line that came from a header is not where the function is.
  symbols::Location location = place({"work"});
  location.frames[0].file = "/src/macros.h";
  location.entry = unwind::Frame{"work", "/src/a.c", 1};
  CHECK(path_frames(location, 0, path).callee() == 0);
  // What is inlined into the function that a sample is charged to is not the callee.
  CHECK(path_frames(place({"work", "often"}), 1, path).callee() == 2);
}

TEST_CASE("a function that is only inlined is found by a short name", "[causal][call_path]") {
  CallPath path = path_of("f < g");
  path.steps[0].only_inlined = true;
  CHECK(path_frames(place({"ns::f(int)", "g"}), 0, path).callee() == 0);
  CHECK(path_frames(place({"ns::h(int)", "g"}), 0, path).callee() == 2);
  CHECK(path_frames(place({"g", "ns::f(int)"}), 0, path).callee() == 2);  // it has code
}

TEST_CASE("samples of the callee are counted with their callers", "[causal][call_path]") {
  const CallPath path = path_of("work < often");
  PathUnit unit(path, 3);
  const auto count = [&](const std::vector<std::string>& callers, bool complete) {
    REQUIRE(unit.begin(path_frames(place({"work"}), 0, path)));
    for (const std::string& each : callers) unit.add(path_frames(place({each}), 0, path));
    unit.count(unit.decide(complete));
  };
  for (int i = 0; i < 5; ++i) count({"often"}, false);
  for (int i = 0; i < 3; ++i) count({"rarely", "main"}, true);
  count({}, false);
  count({}, true);
  CHECK(unit.counts().in_callee == 10);
  CHECK(unit.counts().on_path == 5);
  CHECK(unit.counts().unknown_callers == 1);
  CHECK(unit.callers_text() == "often (50 %), rarely (30 %), unknown code (20 %)");
}

TEST_CASE("a call path is one unit under any of its names", "[causal][call_path]") {
  Unit unit{"work < often", false, "work", "/src/a.c", 3, "server"};
  unit.path = "/src/a.c:work < /src/b.c:often";
  CHECK(identity_of(unit) == unit.path);
  CHECK(may_be_called(unit, "work < often"));
  CHECK(may_be_called(unit, unit.path));
  CHECK_FALSE(may_be_called(unit, "work"));
  CHECK_FALSE(may_be_called(unit, "server:work"));
  std::vector<Run> runs(2);
  runs[0].experiments.emplace_back().unit = unit;
  unit.name = "work < b.c:often";
  runs[1].experiments.emplace_back().unit = unit;
  Unit function = unit;
  function.path.clear();
  function.name = "work";
  runs[1].experiments.emplace_back().unit = function;
  join_units(runs);
  CHECK(runs[0].experiments[0].unit.name == runs[1].experiments[0].unit.name);
  CHECK(runs[1].experiments[1].unit.name == "work");
}

}  // namespace causalctl::causal
