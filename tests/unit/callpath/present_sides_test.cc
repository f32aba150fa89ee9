#include "controller/callpath/analysis/present_sides.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/callpath/analysis/filter.h"
#include "controller/callpath/analysis/matching.h"
#include "controller/callpath/analysis/present.h"
#include "controller/report/callpath/difference.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using Catch::Contains;
using report::callpath::Side;
using report::callpath::Sides;

// What a side has in all on paths that end in a function.
std::uint64_t own_of(const Sides& sides, const Side& side, const std::string& function) {
  std::uint64_t sum = 0;
  for (std::size_t node = 1; node < sides.profile.nodes.size(); ++node) {
    if (sides.profile.frames[sides.profile.nodes[node].frame].function != function) continue;
    for (const std::size_t column : side.parts) sum += sides.profile.own[column][node];
  }
  return sum;
}

Sides sides_of(const SidesWanted& wanted = {}) {
  return present_sides({small_recording()}, {other_build(2)}, wanted);
}

std::string refused(const SidesWanted& wanted, Recording before = small_recording()) {
  try {
    present_sides({std::move(before)}, {other_build(2)}, wanted);
  } catch (const UsageError& error) {
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "";
}

}  // namespace

TEST_CASE("functions of two builds are matched by name and file", "[callpath][sides]") {
  const Sides sides = sides_of();
  CHECK(sides.metric.name == "cpu");
  CHECK(own_of(sides, sides.before, "c") == 90'000'000);
  CHECK(own_of(sides, sides.after, "c") == 180'000'000);
  const auto labels = report::callpath::by_function(sides.profile);
  CHECK(labels.all.size() == 5);  // each function once: main, a, b, c, and the code in libz
  const auto lines = report::callpath::by_known_line(sides.profile);
  CHECK(lines.all.size() == 8);
  for (const auto& label : lines.all) CHECK_THAT(label.name, !Contains("0x"));
}

TEST_CASE("files of one name are matched by their folders", "[callpath][sides]") {
  std::vector<Recording> before(1);
  std::vector<Recording> after(1);
  const auto fill = [](Recording& r, const std::string& folder) {
    r.modules = {{"/srv/bin/server", "ab"}};
    for (const std::string file : {"/s1/u.c", "/s2/u.c", "/t/u.c"}) {
      add_location(r, 0, 0x10, false, {{"f", folder + file, 1, folder + file}});
    }
  };
  fill(before[0], "/build/v1");
  fill(after[0], "/home/me");
  after[0].locations.pop_back();
  match_files(before, after);
  CHECK(before[0].locations[0].frames[0].file == "/home/me/s1/u.c");
  CHECK(before[0].locations[1].frames[0].home == "/home/me/s2/u.c");
  CHECK(before[0].locations[2].frames[0].file == "/build/v1/t/u.c");  // it has none
}

TEST_CASE("a name with a file or a module is a name for filters", "[callpath][filter]") {
  const auto own = [](const std::string& function) {
    report::callpath::Profile profile = present(std::array{small_recording()});
    apply({{Filter::Kind::through, function}}, profile);
    std::uint64_t sum = 0;
    for (const std::uint64_t value : profile.own[0]) sum += value;
    return sum;
  };
  CHECK(own("a.c:a(int)") == 70'000'000);
  CHECK(own("src/a.c:a(int)") == 70'000'000);
  CHECK(own("server:c") == 100'000'000);
  CHECK_THROWS_AS(own("b.c:a(int)"), UsageError);
}

TEST_CASE("values stand in the parts of the time, and sum up over runs", "[callpath][sides]") {
  Recording before = small_recording();
  cut(before, 10);
  Recording after = other_build(2);
  cut(after, 8);
  const Sides sides = present_sides({before, before, before}, {after}, {});
  CHECK(sides.before.parts.size() == 30);
  CHECK(sides.after.parts.size() == 8);
  CHECK(own_of(sides, sides.before, "c") == 270'000'000);
  CHECK(own_of(sides, sides.after, "c") == 180'000'000);
  // Many runs have a part each.
  const Sides many = present_sides(std::vector<Recording>(40, before), {after}, {});
  CHECK(many.before.parts.size() == 40);
  CHECK(own_of(many, many.before, "c") == 40 * 90'000'000ULL);
}

TEST_CASE("values per second, and per call", "[callpath][sides]") {
  Recording before = small_recording();
  before.events = {{
      "uprobe:reply",
      "calls",
      "Calls of reply",
  }};
  before.add({0, 0, metric_of_event(0)}, 1, 40);
  before.epochs.push_back({500'000'000, "dlopen of libz.so.1"});
  cut(before, 4);
  Recording after = before;
  const Sides seconds = present_sides({before}, {after}, {"", "", "second"});
  CHECK(seconds.before.bases == std::vector<double>(4, 0.5));
  const Sides epoch = present_sides({before}, {after}, {"0", "", "second"});
  CHECK(epoch.after.bases == std::vector<double>{0.5, 0, 0, 0});
  const Sides calls = present_sides({before}, {after}, {"", "", "uprobe:reply"});
  CHECK(calls.before.bases == std::vector<double>(4, 10));
  CHECK(calls.per_title == "Calls of reply");
}

TEST_CASE("what only one of the two has is refused", "[callpath][sides]") {
  CHECK_THAT(refused({"", "blocked", ""}), Contains("--metric blocked: the recording has no such"));
  CHECK_THAT(refused({"", "new_min", ""}), Contains("no such column"));
  CHECK_THAT(refused({"9", "", ""}), Contains("--epoch 9"));
  CHECK_THAT(refused({"", "", "uprobe:f"}), Contains("--per uprobe:f: the recording has no such"));
  CHECK(refused({}) == "");
  Recording waits;
  waits.epochs = {{0, "start"}};
  waits.groups = {{"all"}};
  CHECK_THAT(refused({}, waits),
             Contains("--metric cpu: the recording of --diff has no such column"));
  Recording with_epoch = other_build(1);
  with_epoch.epochs.push_back({10, "dlopen of x"});
  CHECK_THROWS_WITH(present_sides({small_recording()}, {with_epoch}, {"dlopen", "", ""}),
                    Contains("the recording of --diff: --epoch dlopen"));
  Recording calls = small_recording();
  calls.add({0, 0, Metric::new_min}, 1, 3);
  CHECK_THROWS_WITH(present_sides({calls}, {calls}, {"", "new_min", ""}),
                    Contains("cannot be compared"));
}

TEST_CASE("a filter that leaves one side nothing is refused for shares", "[callpath][sides]") {
  Recording before = small_recording();
  for (auto& location : before.locations) {
    for (auto& frame : location.frames) {
      if (frame.function == "c") frame.function = "d";
    }
  }
  Sides sides = present_sides({before}, {other_build(2)}, {});
  apply({{Filter::Kind::under, "c"}}, sides.profile);
  CHECK_THROWS_WITH(report::callpath::check_comparable(sides),
                    Contains("the recording of --diff has nothing of \"CPU time\""));
  sides = present_sides({before}, {other_build(2)}, {"", "", "second"});
  apply({{Filter::Kind::under, "c"}}, sides.profile);
  report::callpath::check_comparable(sides);
}

TEST_CASE("it is told where two recordings are not alike", "[callpath][sides]") {
  CHECK(sides_of().notes.empty());
  Recording before = small_recording();
  before.executable = "/srv/other";
  before.period_ns = 3'000'000;
  before.chains = {70, 30, 0, 0, 0};
  before.groups = {{"old workers"}};
  Recording after = other_build(1);
  after.groups = {{"new workers"}};
  const Sides sides = present_sides({before}, {after}, {});
  REQUIRE(sides.notes.size() == 4);
  CHECK_THAT(sides.notes[0], Contains("Groups of threads are left out"));
  CHECK_THAT(sides.notes[1], Contains("OLD is of /srv/other, NEW of /srv/v2/bin/server"));
  CHECK_THAT(sides.notes[2], Contains("OLD has a sample each 3 ms"));
  CHECK_THAT(sides.notes[3], Contains("70.0 % are complete in OLD and 98.0 % in NEW"));
}

TEST_CASE("two sets are compared by program", "[callpath][sides][set]") {
  Recording before = set_recording();
  cut(before, 4);
  Recording after = before;
  after.pid = 900;
  after.processes = {{900, "make"}, {901, "cc1"}, {902, "cc1"}, {903, "ld"}};
  after.programs = {{"make", 1}, {"cc1", 2}, {"ld", 1}};
  after.account.processes = 4;
  const Sides sides = present_sides({before}, {after}, {});
  CHECK(sides.notes.empty());
  CHECK((sides.before.head.processes == 43 && sides.after.head.processes == 4));
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> rows;
  for (std::size_t node = 1; node < sides.profile.nodes.size(); ++node) {
    const auto& frame = sides.profile.frames[sides.profile.nodes[node].frame];
    if (!frame.is_group()) continue;
    CHECK(frame.stands == report::callpath::Stands::program);
    for (const std::size_t part : sides.before.parts) {
      rows[frame.function].first += totals(sides.profile, part)[node];
    }
    for (const std::size_t part : sides.after.parts) {
      rows[frame.function].second += totals(sides.profile, part)[node];
    }
  }
  using Row = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(rows.size() == 4);
  CHECK(rows["cc1"] == Row{80'000'000, 80'000'000});
  CHECK(rows["as"] == Row{10'000'000, 0});
  CHECK(rows["ld"] == Row{0, 10'000'000});
}

TEST_CASE("it is told of which programs the groups of threads are left out",
          "[callpath][sides][set]") {
  const auto with_names = [](const std::string& of_make, const std::string& of_all) {
    Recording r = set_recording();
    for (Group& group : r.groups) group.name = of_all;
    r.groups[0].name = of_make;
    return r;
  };
  const Sides one = present_sides({with_names("old", "all")}, {with_names("new", "all")}, {});
  REQUIRE(one.notes.size() == 1);
  CHECK_THAT(one.notes[0], Contains("Groups of threads of make are left out, because none"));
  const Sides all = present_sides({with_names("1", "old")}, {with_names("2", "new")}, {});
  REQUIRE(all.notes.size() == 1);
  CHECK_THAT(all.notes[0], Contains("Groups of threads of as, cc1, make are left out"));
}

TEST_CASE("programs of which none is in both recordings are left out", "[callpath][sides][set]") {
  Recording after = set_recording();
  for (Process& process : after.processes) process.program += "-2";
  const Sides sides = present_sides({set_recording()}, {after}, {});
  REQUIRE(sides.notes.size() == 1);
  CHECK_THAT(sides.notes[0], Contains("Programs are left out"));
  for (const auto& frame : sides.profile.frames) CHECK_FALSE(frame.is_group());
  CHECK(own_of(sides, sides.before, "c") == 90'000'000);
}

TEST_CASE("groups of threads of a program that only one set has are rows",
          "[callpath][sides][set]") {
  Recording before = set_recording();
  before.groups[2].name = "worker";
  Recording after = set_recording();
  after.processes[1].program = after.processes[2].program = "cc2";
  const Sides sides = present_sides({before}, {after}, {});
  CHECK(sides.notes.empty());
  std::vector<std::string> names;
  for (const auto& frame : sides.profile.frames) {
    if (frame.stands == report::callpath::Stands::threads) names.push_back(frame.function);
  }
  CHECK(names == std::vector<std::string>{"all", "worker"});
}

TEST_CASE("files have the paths of the other recording", "[callpath][sides]") {
  std::vector<Recording> before{Recording{}};
  std::vector<Recording> after{Recording{}};
  before[0].executable = "/a/prog";
  after[0].executable = "/b/prog-2";
  for (const char* path : {"/a/prog (deleted)", "/usr/lib/libx.so.1.2", "/a/libtwo.so", "[vdso]",
                           "/a/libgone.so", ""}) {
    before[0].modules.push_back({path, ""});
  }
  for (const char* path : {"/b/prog-2", "/b/libx.so.2", "/b/libtwo.so", "/c/libtwo.so", "[vdso]"}) {
    after[0].modules.push_back({path, ""});
  }
  match_files(before, after);
  std::vector<std::string> paths;
  for (const Module& module : before[0].modules) paths.push_back(module.path);
  // Two files are called libtwo.so, and nothing tells which it is.
  CHECK(paths == std::vector<std::string>{"/b/prog-2", "/b/libx.so.2", "/a/libtwo.so", "[vdso]",
                                          "/a/libgone.so", ""});
}

}  // namespace causalctl::callpath
