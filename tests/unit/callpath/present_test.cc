#include "controller/callpath/analysis/present.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/callpath/analysis/expansion.h"
#include "controller/callpath/analysis/filter.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using Catch::Contains;
using report::callpath::Profile;

// Returns the values of a column that are not 0, by path: "main:10 a(int):21".
std::map<std::string, std::uint64_t> paths(const Profile& profile, std::size_t column) {
  std::map<std::string, std::uint64_t> all;
  for (std::uint32_t node = 0; node < profile.nodes.size(); ++node) {
    if (profile.own[column][node] == 0) continue;
    std::string path;
    for (std::uint32_t at = node; at != 0; at = profile.nodes[at].parent) {
      const auto& frame = profile.frames[profile.nodes[at].frame];
      path = frame.function + (frame.line > 0 ? fmt::format(":{}", frame.line) : "") +
             (path.empty() ? "" : " ") + path;
    }
    all[path] += profile.own[column][node];
  }
  return all;
}

using Paths = std::map<std::string, std::uint64_t>;

Profile small(const std::vector<Filter>& filters = {}) {
  Profile profile = present(std::array{small_recording()});
  apply(filters, profile);
  return profile;
}

constexpr auto kThrough = Filter::Kind::through;
constexpr auto kUnder = Filter::Kind::under;
constexpr auto kNot = Filter::Kind::without;

}  // namespace

TEST_CASE("an event is a column of all runs that have one of its name", "[callpath][present]") {
  std::array runs{small_recording(), small_recording()};
  runs[0].events = {{"page-faults", "faults", "Page faults"}};
  runs[1].events = {{"uprobe:f", "calls", "Calls of f"}, {"page-faults", "faults", "Page faults"}};
  const NodeId node = 1;  // main, line 10
  runs[0].add({0, 0, metric_of_event(0)}, node, 3);
  runs[1].add({0, 0, metric_of_event(1)}, node, 4);
  const Profile profile = present(runs);
  REQUIRE(profile.columns.size() == 4);
  CHECK(profile.columns[2].name == "page-faults");
  CHECK(profile.columns[2].is_event);
  CHECK(paths(profile, 2) == Paths{{"main:10", 7}});
  CHECK(profile.columns[3].name == "uprobe:f");
  CHECK(paths(profile, 3).empty());
}

TEST_CASE("who ended a wait stands below its path, the innermost function first",
          "[callpath][present]") {
  Recording run = small_recording();
  CHECK_THROWS_AS(present_wakers(std::array{run}), UsageError);
  run.wakers = {{0, {{{1, 3}, 80}}}};  // main; main a(int) b(int) c
  const Profile profile = present_wakers(std::array{run});
  REQUIRE(profile.columns.size() == 1);
  CHECK(paths(profile, 0) == Paths{{"main:10 [woken by] c:40 b(int):30 a(int):21 main:10", 80}});
}

TEST_CASE("inlined functions are frames of their own, outermost first", "[callpath][present]") {
  const Profile profile = small();
  REQUIRE(profile.columns.size() == 2);
  CHECK(profile.columns[0].name == "cpu");
  CHECK(profile.columns[1].name == "samples");
  CHECK(paths(profile, 1) == Paths{{"main:10 a(int):21 b(int):30 c:40", 50},
                                   {"main:10 a(int):21 b(int):30 c:41 c:40", 20},
                                   {"main:12 c:40", 20},
                                   {"main:12 c:42 [libz.so.1]", 10}});
  CHECK(totals(profile, 0)[0] == 100'000'000);
  for (const auto& frame : profile.frames) {
    CHECK(frame.inlined == (frame.function == "b(int)"));
    if (frame.function == "a(int)") CHECK(frame.offset == 0x110f);  // within the call
    if (frame.function == "[libz.so.1]") CHECK(frame.offset == 0x5000);
  }
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    CHECK(profile.nodes[node].parent < node);
  }
  CHECK(profile.chains.complete == 98);
  CHECK(profile.chains.reasons.size() == 2);
}

TEST_CASE("functions that tail calls left out are frames of their own", "[callpath][present]") {
  Recording recording = small_recording();
  // main calls d, which jumps to c.
  const LocationId jump = add_location(recording, 0, 0x1310, false, {{"d", "/src/d.c", 51}});
  const LocationId main_c = 1, in_c = 4, c_z = 5;
  recording.tails = {{main_c, in_c, TailKind::found, {jump}},
                     {main_c, c_z, TailKind::unexplained, {}}};
  const Profile profile = present(std::array{recording});
  CHECK(paths(profile, 1) == Paths{{"main:10 a(int):21 b(int):30 c:40", 50},
                                   {"main:10 a(int):21 b(int):30 c:41 c:40", 20},
                                   {"main:12 d:51 c:40", 20},
                                   {"main:12 c:42 [libz.so.1]", 10}});
  for (const auto& frame : profile.frames) CHECK(frame.tail == (frame.function == "d"));
  CHECK(profile.tail_calls.calls == 50 * 2 + 20 * 3 + 20 + 10 * 2);
  CHECK(profile.tail_calls.found == 20);
  CHECK(profile.tail_calls.unexplained == 10);
  CHECK(profile.tail_calls.ambiguous == 0);
}

TEST_CASE("several groups of threads are the outermost frames", "[callpath][present]") {
  Recording recording = small_recording();
  recording.groups.push_back({"worker"});
  recording.add({0, 1, Metric::waits}, 1, 7);
  const Profile profile = present(std::array{recording});
  REQUIRE(profile.columns.size() == 3);
  CHECK(profile.columns[2].name == "waits");
  CHECK(paths(profile, 2) == Paths{{"worker main:10", 7}});
  CHECK(paths(profile, 1).count("all main:12 c:40") == 1);
}

TEST_CASE("what has no call chain is shown, and is on no function's path", "[callpath][present]") {
  Recording recording = small_recording();
  recording.add({0, 0, Metric::waits}, kRoot, 7);
  Profile profile = present(std::array{recording});
  CHECK(paths(profile, 2) == Paths{{"[no call chain]", 7}});
  apply({{kNot, "a"}}, profile);
  CHECK(paths(profile, 2) == Paths{{"[no call chain]", 7}});
}

TEST_CASE("builds of one file are told apart, and the user is told of them",
          "[callpath][present]") {
  const Recording first = small_recording();
  Recording second = small_recording();
  second.id = "run-2";
  second.modules.at(second.locations.front().module).build_id = "other";
  REQUIRE(second.modules.at(second.locations.front().module).path == second.executable);
  const Profile profile = present(std::array{first, second});
  std::set<std::string> builds;
  for (const auto& frame : profile.frames) {
    if (frame.module == first.executable) builds.insert(profile.build_ids.at(frame.module_number));
  }
  CHECK(builds.size() == 2);
  REQUIRE(profile.notes.size() == 1);
  CHECK_THAT(profile.notes[0], Contains("built anew"));
}

TEST_CASE("builds within a run are not builds between runs", "[callpath][present]") {
  Recording two_images = small_recording();
  two_images.modules.push_back({two_images.executable, "other"});
  two_images.modules.push_back({two_images.executable, ""});  // whose file could not be read
  CHECK(present(std::array{two_images}).notes.empty());
  CHECK(present(std::array{two_images, small_recording()}).notes.empty());
  Recording unread = small_recording();
  unread.modules[0].build_id.clear();
  CHECK(present(std::array{unread, small_recording()}).notes.empty());
  Recording anew = small_recording();
  anew.modules[0].build_id = "third";
  CHECK_THAT(present(std::array{two_images, unread, anew}).notes.at(0), Contains("built anew"));
}

TEST_CASE("runs are added up, whatever their numbers are", "[callpath][present]") {
  Recording other = small_recording();
  other.id = "run-2";
  other.pid = 4712;
  other.modules.insert(other.modules.begin(), {"/usr/lib/libother.so", ""});
  for (Location& each : other.locations) ++each.module;
  other.ended = false;
  const Profile profile = present(std::array{small_recording(), other});
  CHECK(paths(profile, 1).at("main:12 c:42 [libz.so.1]") == 20);
  CHECK(profile.nodes.size() == small().nodes.size());
  CHECK(profile.pid == 0);
  CHECK(profile.runs == 2);
  CHECK(profile.wall_ns == 4'000'000'000);
  CHECK(profile.chains.complete == 196);
  REQUIRE(profile.notes.size() == 1);
  CHECK_THAT(profile.notes[0], Contains("process 4712") && Contains("no end"));
}

TEST_CASE("filters keep paths through, under and without a function", "[callpath][filter]") {
  CHECK(paths(small({{kThrough, "a"}}), 1) == Paths{{"main:10 a(int):21 b(int):30 c:40", 50},
                                                    {"main:10 a(int):21 b(int):30 c:41 c:40", 20}});
  CHECK(paths(small({{kUnder, "c"}}), 1) ==
        Paths{{"c:40", 70}, {"c:41 c:40", 20}, {"c:42 [libz.so.1]", 10}});
  CHECK(paths(small({{kNot, "a"}}), 1) ==
        Paths{{"main:12 c:40", 20}, {"main:12 c:42 [libz.so.1]", 10}});
}

TEST_CASE("filters nest", "[callpath][filter]") {
  CHECK(paths(small({{kThrough, "c"}, {kThrough, "c"}}), 1) ==
        Paths{{"main:10 a(int):21 b(int):30 c:41 c:40", 20}});
  CHECK(paths(small({{kUnder, "c"}, {kNot, "c"}}), 1) ==
        Paths{{"c:40", 70}, {"c:42 [libz.so.1]", 10}});
  CHECK(paths(small({{kUnder, "a"}, {kThrough, "c"}}), 1) ==
        Paths{{"a(int):21 b(int):30 c:40", 50}, {"a(int):21 b(int):30 c:41 c:40", 20}});
  CHECK(paths(small({{kNot, "[libz.so.1]"}, {kThrough, "main"}}), 1).size() == 3);
  CHECK_THROWS_WITH(small({{kThrough, "b"}, {kThrough, "a"}}), Contains("no path fits"));
}

TEST_CASE("a filter's name that nothing has is told with the nearest ones", "[callpath][filter]") {
  try {
    small({{kThrough, "mian"}});
    FAIL("it was accepted");
  } catch (const UsageError& error) {
    CHECK_THAT(error.what(), Contains("--through mian"));
    CHECK_THAT(error.hint(), Contains("main"));
  }
}

TEST_CASE("a call is that of the function with the code, not of an inlined one",
          "[callpath][present]") {
  Recording recording = small_recording();
  recording.add({0, 0, Metric::new_min}, recording.tree.path(std::array<LocationId, 2>{0, 2}), 3);
  recording.add({0, 0, Metric::new_max}, recording.tree.path(std::array<LocationId, 1>{0}), 9);
  const Profile profile = present(std::array{recording});
  REQUIRE(profile.columns.size() == 4);
  CHECK(paths(profile, 2) == Paths{{"main:10 a(int):21", 3}});
  CHECK(paths(profile, 3) == Paths{{"main:10", 9}});
  CHECK(without_calls(profile).columns.size() == 2);
}

TEST_CASE("threads that began in functions of one name are several groups", "[callpath]") {
  Recording r = small_recording();
  r.groups = {{"one"}, {"other"}};
  r.groups[0].start = add_location(r, 0, 0x3000, true, {{"serve", "/s1/u.c", 3, "/s1/u.c"}});
  r.groups[1].start = add_location(r, 0, 0x4000, true, {{"serve", "/s2/u.c", 3, "/s2/u.c"}});
  CHECK(name_of_group(r, r.groups[0]) == "s1/u.c:serve");
  CHECK(name_of_group(r, r.groups[1]) == "s2/u.c:serve");
  r.locations[*r.groups[1].start].frames[0].function = "work";
  CHECK(name_of_group(r, r.groups[0]) == "serve");
}

}  // namespace causalctl::callpath
