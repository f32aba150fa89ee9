#include "controller/session/set_members.h"

#include <catch2/catch.hpp>

namespace causalctl::session {
namespace {

ProcessRow process_row(Pid pid, Pid parent, std::uint64_t start = 1) {
  ProcessRow row;
  row.pid = pid;
  row.parent = parent;
  row.name = "p";
  row.start_ticks = start;
  return row;
}

bool named(std::string_view name, const std::string& executable,
           const std::vector<std::string>& words, const std::string& glob) {
  return is_process_named(name, {[&] { return executable; }, [&] { return words; }}, glob);
}

using Pids = std::vector<Pid>;

}  // namespace

TEST_CASE("A name fulfils a glob as a whole", "[process_set]") {
  CHECK(is_named("nginx", "nginx"));
  CHECK(is_named("nginx", "ng*"));
  CHECK(is_named("nginx", "ngin?"));
  CHECK_FALSE(is_named("nginx", "ngin"));
  CHECK_FALSE(is_named("nginx-debug", "nginx"));
  CHECK(is_named("a[1]", "a[1]"));  // the text of a name is no pattern
  CHECK_FALSE(is_named("", "?*"));
}

TEST_CASE("A process has the names of the kernel and of its executable", "[process_set]") {
  CHECK(named("MainThread", "/usr/bin/node", {"node", "x.js"}, "node"));
  CHECK(named("MainThread", "/usr/bin/node", {"node"}, "Main*"));
  CHECK_FALSE(named("sh", "/usr/bin/dash", {"sh", "/opt/server"}, "server"));
  CHECK_FALSE(named("sh", "", {}, "*dash"));  // of another user
}

TEST_CASE("Of a name that the kernel has cut a word tells the rest", "[process_set]") {
  const std::string cut = "causal_with_a_l";
  const std::vector<std::string> words = {"/bin/sh", "/opt/causal_with_a_long_name", "-x"};
  CHECK(named(cut, "/usr/bin/dash", words, "causal_with_a_long_name"));
  CHECK(named(cut, "/usr/bin/dash", words, "causal_with_*_name"));
  CHECK(named(cut, "/usr/bin/dash", words, cut));
  CHECK_FALSE(named(cut, "/usr/bin/dash", words, "causal_with_a_lower_name"));
  CHECK_FALSE(named("causal", "/usr/bin/dash", words, "causal_with_a_long_name"));
}

TEST_CASE("Words of a command line are read only where they matter", "[process_set]") {
  bool read = false;
  const ReadNames names{[&] { return read = true, std::string("/bin/x"); },
                        [&] { return read = true, std::vector<std::string>(); }};
  CHECK(is_process_named("nginx", names, "nginx"));
  CHECK_FALSE(read);
}

TEST_CASE("A family is a process and all below it", "[process_set]") {
  Family family({process_row(10, 1)});
  const std::vector<ProcessRow> rows = {process_row(1, 0),  process_row(5, 11),
                                        process_row(10, 1), process_row(11, 10),
                                        process_row(12, 1), process_row(13, 5)};
  CHECK(family.update(rows, {}) == Pids{5, 10, 11, 13});
}

TEST_CASE("A member of a family stays one when its parent ends", "[process_set]") {
  Family family({process_row(10, 1)});
  CHECK(family.update({process_row(1, 0), process_row(10, 1), process_row(11, 10)}, {}) ==
        Pids{10, 11});
  // The child now belongs to init, and has one of its own.
  CHECK(family.update({process_row(1, 0), process_row(11, 1), process_row(12, 11)}, {}) ==
        Pids{11, 12});
  CHECK(family.update({process_row(1, 0), process_row(12, 1)}, {}) == Pids{12});
  CHECK(family.update({process_row(1, 0)}, {}).empty());
}

TEST_CASE("A number that is used again is no member of a family", "[process_set]") {
  Family family({process_row(10, 1, 100)});
  CHECK(family.update({process_row(1, 0), process_row(10, 1, 101), process_row(11, 10, 102)}, {})
            .empty());
}

TEST_CASE("A member that a record tells of belongs to the family", "[process_set]") {
  Family family({process_row(10, 1)});
  family.add(process_row(20, 1));  // its parent, a member, has ended between two scans
  CHECK(family.update({process_row(1, 0), process_row(10, 1), process_row(20, 1)}, {}) ==
        Pids{10, 20});
}

TEST_CASE("causalctl and what it has started are not of the family", "[process_set]") {
  Family family({process_row(10, 1)});
  const std::vector<ProcessRow> rows = {process_row(10, 1), process_row(30, 10),
                                        process_row(31, 30), process_row(32, 10)};
  CHECK(family.update(rows, {30}) == Pids{10, 32});
  Family started({process_row(31, 30)});  // unless it was named
  CHECK(started.update(rows, {30}) == Pids{31});
}

TEST_CASE("Zombies and kernel threads are no members, but may have been parents", "[process_set]") {
  ProcessRow zombie = process_row(11, 10);
  zombie.has_ended = true;
  Family family({process_row(10, 1)});
  CHECK(family.update({process_row(10, 1), zombie}, {}) == Pids{10});
}

TEST_CASE("A bound keeps those that were there before", "[process_set]") {
  CHECK(at_most({1, 2, 3}, {}, 3) == Pids{1, 2, 3});
  CHECK(at_most({1, 2, 3}, {}, 2) == Pids{1, 2});
  CHECK(at_most({1, 2, 3, 4}, {3, 4}, 3) == Pids{1, 3, 4});
  CHECK(at_most({1, 2, 3, 4}, {2, 3, 4}, 2) == Pids{2, 3});
  CHECK(at_most({}, {1}, 2).empty());
}

}  // namespace causalctl::session
