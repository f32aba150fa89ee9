#include "controller/callpath/analysis/group_rows.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>

#include "controller/base/fields.h"
#include "controller/callpath/analysis/filter.h"
#include "controller/callpath/analysis/present.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Profile;
using report::callpath::Stands;

// Returns the totals of the first column by what stands above the code: "cc1", "cc1 / worker".
std::map<std::string, std::uint64_t> tops(const Profile& profile) {
  const std::vector<std::uint64_t> total = report::callpath::totals(profile, 0);
  std::map<std::string, std::uint64_t> all;
  std::vector<std::string> names(profile.nodes.size());
  for (std::uint32_t node = 1; node < profile.nodes.size(); ++node) {
    const auto& frame = profile.frames[profile.nodes[node].frame];
    const std::string& above = names[profile.nodes[node].parent];
    if (!frame.is_group()) continue;
    names[node] = (above.empty() ? "" : above + " / ") + frame.function;
    all[names[node]] += total[node];
  }
  return all;
}

using Tops = std::map<std::string, std::uint64_t>;

constexpr std::uint64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("paths of a set begin with their program", "[callpath][set]") {
  const Profile profile = present(std::array{set_recording()});
  CHECK(tops(profile) == Tops{{"make", 10 * kMs}, {"cc1", 80 * kMs}, {"as", 10 * kMs}});
  CHECK(profile.nodes[1].parent == 0);
  CHECK(profile.frames[profile.nodes[1].frame].stands == Stands::program);
  CHECK(profile.processes == 43);
  CHECK(profile.pid == 0);
  REQUIRE(profile.programs.size() == 3);
  CHECK(profile.programs[0].name == "cc1");
  CHECK(profile.programs[0].processes == 2);
  CHECK(profile.programs[0].cpu_ns == 80 * kMs);
  CHECK(profile.programs[1].name == "make");
  CHECK(profile.programs[1].blocked_ns == 500 * kMs);
  CHECK(profile.programs[2].processes == 40);
}

TEST_CASE("each process of a set has a row if it is asked for", "[callpath][set]") {
  const Profile profile = present(std::array{set_recording()}, "", true);
  CHECK(tops(profile) == Tops{{"make (process 100)", 10 * kMs},
                              {"cc1 (process 101)", 60 * kMs},
                              {"cc1 (process 102)", 20 * kMs},
                              {"as (others)", 10 * kMs}});
  Profile filtered = profile;
  apply({{Filter::Kind::under, "cc1 (process 101)"}}, filtered);
  CHECK(totals(filtered, 0)[0] == 60 * kMs);
  Recording other = small_recording();
  other.pid = 4712;
  const Profile two = present(std::array{small_recording(), other}, "", true);
  CHECK(tops(two) ==
        Tops{{"server (process 4711)", 100 * kMs}, {"server (process 4712)", 100 * kMs}});
  CHECK(two.programs.empty());
}

TEST_CASE("groups of threads stand below their program, where it has several", "[callpath][set]") {
  Recording r = set_recording();
  for (Group& group : r.groups) group.name = r.processes[*group.process].program;
  r.groups[2].name = "worker";
  CHECK(tops(present(std::array{r})) == Tops{{"make", 10 * kMs},
                                             {"cc1", 80 * kMs},
                                             {"cc1 / cc1", 60 * kMs},
                                             {"cc1 / worker", 20 * kMs},
                                             {"as", 10 * kMs}});
  const Profile by_process = present(std::array{r}, "", true);
  CHECK(tops(by_process).size() == 4);  // each has one group of threads
}

TEST_CASE("a set of one program has the paths of a process", "[callpath][set]") {
  Recording r = set_recording();
  for (Process& process : r.processes) process.program = "cc1";
  r.programs = {{"cc1", 43}, {"make", 0}};  // its children have executed it
  const Profile profile = present(std::array{r});
  CHECK(tops(profile).empty());
  REQUIRE(profile.programs.size() == 1);
  CHECK(profile.programs[0].processes == 43);
  CHECK(tops(present(std::array{r}, "", true)).size() == 4);
}

TEST_CASE("a recording of one process beside that of a set is of its program", "[callpath][set]") {
  Recording one = small_recording();
  one.executable = "/usr/lib/gcc/cc1";
  const Profile profile = present(std::array{set_recording(), one});
  CHECK(tops(profile) == Tops{{"make", 10 * kMs}, {"cc1", 180 * kMs}, {"as", 10 * kMs}});
  CHECK(profile.programs[0].processes == 3);
  CHECK(profile.processes == 44);
  one.ended = false;
  Recording set = set_recording();
  set.ended = false;
  const std::vector<std::string> notes = present(std::array{set, one}).notes;
  REQUIRE(notes.size() >= 2);
  CHECK(notes[0].starts_with("/usr/bin/make and 42 other processes: The log has no end"));
  CHECK(notes[1].starts_with("/usr/lib/gcc/cc1 (process 4711): The log has no end"));
}

TEST_CASE("a set that is not of one process's children has the name that was typed",
          "[callpath][set]") {
  Recording set = set_recording();
  set.set = "--match cc1";
  CHECK(present(std::array{set}).set.empty());  // its pid was given
  set.pid = 0;
  set.executable.clear();
  const Profile profile = present(std::array{set});
  CHECK(profile.set == "--match cc1");
  CHECK(profile.program.empty());
  CHECK(profile.pid == 0);
  set.ended = false;
  const std::vector<std::string> notes = present(std::array{set, set}).notes;
  REQUIRE_FALSE(notes.empty());
  CHECK(notes[0].starts_with("--match cc1 (43 processes): The log has no end"));
}

TEST_CASE("a thread whose process is not known is of no program", "[callpath][set]") {
  Recording r = set_recording();
  r.groups[3].process.reset();
  CHECK(tops(present(std::array{r})).at("[process not known]") == 10 * kMs);
  CHECK(tops(present(std::array{r}, "", true)).at("[process not known]") == 10 * kMs);
}

TEST_CASE("wakers of a set stand below their program or process", "[callpath][set]") {
  Recording r = set_recording();
  r.wakers = {{0, {{{1, 3}, 80}}}, {1, {{{1, 3}, 20}}}};
  CHECK(tops(present_wakers(std::array{r})) == Tops{{"make", 80}, {"cc1", 20}});
  CHECK(tops(present_wakers(std::array{r}, true)) ==
        Tops{{"make (process 100)", 80}, {"cc1 (process 101)", 20}});
}

TEST_CASE("the processes of a log without an account are its pids", "[callpath][set]") {
  Recording r = set_recording();
  r.account.processes = 0;
  r.processes.push_back({101, "as"});
  CHECK(processes_of(r) == 4);
  CHECK(processes_of(small_recording()) == 1);
}

}  // namespace causalctl::callpath
