#include "controller/commands/process_set_options.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"

using Catch::Matchers::Contains;

namespace causalctl::commands {

using session::SetKind;

TEST_CASE("Processes are named in one way", "[process_set]") {
  SetWords words;
  CHECK_THROWS_AS(check_ways(ways_of(words)), UsageError);
  words.processes = {"12", "nginx"};
  CHECK(ways_of(words) == std::vector<std::string>{"12 nginx"});
  CHECK_NOTHROW(check_ways(ways_of(words)));
  words.match = "x*";
  words.all = true;
  CHECK(ways_of(words) == std::vector<std::string>{"12 nginx", "--match x*", "--all"});
  CHECK_THROWS_WITH(check_ways(ways_of(words)),
                    Contains("named in 3 ways: 12 nginx; --match x*; --all"));
}

TEST_CASE("A headline says how a set was named, and its size", "[process_set]") {
  CHECK(headline_of({SetKind::processes, {12}, ""}, 1) == "process 12");
  CHECK(headline_of({SetKind::processes, {12, 13}, ""}, 2) == "processes 12, 13");
  CHECK(headline_of({SetKind::processes, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, ""}, 10) ==
        "processes 1, 2, 3, 4, 5, 6, 7, 8 and 2 others");
  CHECK(headline_of({SetKind::children, {12}, ""}, 4) == "--children 12 (4 processes)");
  CHECK(headline_of({SetKind::match, {}, "a\033"}, 1) == "--match a? (1 process)");
  CHECK(headline_of({SetKind::cgroup, {}, "/x"}, 2) == "--cgroup /x (2 processes)");
  CHECK(headline_of({SetKind::service, {}, "nginx", {"/system.slice/nginx.service"}}, 5) ==
        "--service nginx in /system.slice/nginx.service (5 processes)");
  CHECK(headline_of({SetKind::all, {}, ""}, 80) == "--all (80 processes)");
  CHECK(name_of({SetKind::processes, {12, 13}, ""}) == "processes 12, 13");
  CHECK(name_of({SetKind::match, {}, "a"}) == "--match a");
  CHECK(name_of({SetKind::all, {}, ""}) == "--all");
}

TEST_CASE("A program that is started with its children is a set", "[process_set]") {
  const SetChoice choice = choose_program_with_children({"make", "-j2"}, 12);
  CHECK(choice.description.kind == SetKind::children);
  CHECK(choice.pids == std::vector<Pid>{12});
  CHECK(choice.name == "--children -- make -j2");
  CHECK_FALSE(choice.is_single);
}

TEST_CASE("Sets without a process are refused, with similar names", "[process_set]") {
  SetWords words;
  words.match = "there_is_no_such_process";
  CHECK_THROWS_AS(choose_set(words), UsageError);
  try {
    choose_set(words);
  } catch (const Error& error) {
    CHECK_FALSE(error.hint().empty());
  }
  words = {};
  words.cgroup = "there/is/no/such/cgroup";
  CHECK_THROWS_WITH(choose_set(words), "there is no cgroup there/is/no/such/cgroup");
  words = {};
  words.service = "there-is-no-such-unit";
  CHECK_THROWS_AS(choose_set(words), UsageError);
  words.service = "back-up.timer";
  CHECK_THROWS_WITH(choose_set(words), Contains("a unit of this kind has no processes"));
}

}  // namespace causalctl::commands
