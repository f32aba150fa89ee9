#include "controller/causal/engine/coupling.h"

#include <catch2/catch.hpp>

#include "tests/unit/causal/threads.h"

namespace causalctl::causal {

using test::kA;
using test::kB;
using test::kC;

namespace {

using Set = std::unordered_set<Tid>;
using Members = std::vector<Coupling::Member>;

constexpr Tid kD = 4, kLogger = 9;
constexpr Nanoseconds kRanEach = kSecond;

// All threads have run for a second; those that are named pass progress points.
Members all_run(const Set& visitors) {
  Members members;
  for (const Tid tid : {kA, kB, kC, kD}) members.push_back({tid, kRanEach, visitors.contains(tid)});
  members.push_back({kLogger, kMillisecond, visitors.contains(kLogger)});
  return members;
}

}  // namespace

TEST_CASE("threads of which one waits for the other are coupled", "[causal][coupling]") {
  Coupling coupling;
  coupling.waited(kA, kB, 50 * kMillisecond);
  SECTION("if the one that waits passes progress points") {
    CHECK(coupling.take(all_run({kA})) == Set{kA, kB});
  }
  SECTION("or the other one") { CHECK(coupling.take(all_run({kB})) == Set{kA, kB}); }
  SECTION("not if neither does") { CHECK(coupling.take(all_run({kC})).empty()); }
  SECTION("what is over does not count") {
    coupling.take(all_run({kA}));
    CHECK(coupling.take(all_run({kA})).empty());
  }
}

TEST_CASE("a thread that waits for little of its time is not coupled", "[causal][coupling]") {
  Coupling coupling;
  const Nanoseconds wait_ns = GENERATE(29, 31) * kMillisecond;
  coupling.waited(kA, kB, wait_ns / 2);
  coupling.waited(kA, kC, wait_ns - wait_ns / 2);
  CHECK(coupling.take(all_run({kA})) == (wait_ns > 30 * kMillisecond ? Set{kA, kB, kC} : Set{}));
}

TEST_CASE("dependence passes through other threads", "[causal][coupling]") {
  Coupling coupling;
  coupling.waited(kA, kB, 500 * kMillisecond);
  coupling.waited(kB, kC, 500 * kMillisecond);
  coupling.waited(kD, kC, 500 * kMillisecond);
  CHECK(coupling.take(all_run({kA})) == Set{kA, kB, kC, kD});
}

// Both wake the logger, and neither waits for it, so B uses what it saves itself.
TEST_CASE("a helper that two threads wake does not couple them", "[causal][coupling]") {
  Coupling coupling;
  coupling.waited(kLogger, kA, 450 * kMillisecond);
  coupling.waited(kLogger, kB, 450 * kMillisecond);
  CHECK(coupling.take(all_run({kA})) == Set{kA, kLogger});
}

TEST_CASE("two groups that do not wait for each other have no common gain", "[causal][coupling]") {
  Coupling coupling;
  coupling.waited(kA, kB, 500 * kMillisecond);
  coupling.waited(kC, kD, 500 * kMillisecond);
  SECTION("if both make progress") { CHECK(coupling.take(all_run({kA, kC})).empty()); }
  SECTION("the one that does not is left out") {
    CHECK(coupling.take(all_run({kA})) == Set{kA, kB});
  }
}

TEST_CASE("whoever has ended one wait in a thousand is left out", "[causal][coupling]") {
  Coupling coupling;
  coupling.waited(kA, kB, 999 * kMillisecond);
  coupling.waited(kA, kC, kMillisecond);
  CHECK(coupling.take(all_run({kA})) == Set{kA, kB});
}

}  // namespace causalctl::causal
