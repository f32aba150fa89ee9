#include "controller/causal/engine/shared_cores.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

constexpr int kCores = 2;
constexpr auto kBoth = SharedCores::Shows::use_and_disuse_of_quota;

// Two threads for a second beside one stranger: each runs for two thirds of it.
CoreUse beside_one() {
  CoreUse use;
  use.at_ns = kSecond;
  use.cpu_ns = 4 * kSecond / 3;
  use.stranger_wait_ns = 2 * kSecond / 3;
  use.withheld_ns = 2.0 * kSecond / 3;
  use.together_ns = 0;
  use.idle_ns = 0;
  return use;
}

SharedCores classified(const CoreUse& use, const CpuLimits& limits = {}) {
  SharedCores shared;
  shared.update(use, kCores, limits, kBoth);
  return shared;
}

// Both threads stop together for a fifth of the time, because they may use 1.6 cores.
CoreUse stopped_together() {
  CoreUse use;
  use.at_ns = kSecond;
  use.cpu_ns = 8 * kSecond / 5;
  use.stranger_wait_ns = 2 * kSecond / 5;
  use.together_ns = use.withheld_ns = 2.0 * kSecond / 5;
  use.idle_ns = 2 * kSecond / 5;
  return use;
}

}  // namespace

TEST_CASE("beside strangers cores are shared, and pauses are awake", "[causal]") {
  CHECK(classified(beside_one()).shared());
  CHECK(classified(beside_one()).may_stand_awake());
  CHECK_FALSE(SharedCores{}.shared());
}

TEST_CASE("waits of a few moments are nobody's doing", "[causal]") {
  CoreUse use = beside_one();
  use.stranger_wait_ns = use.cpu_ns / 25;
  CHECK_FALSE(classified(use).shared());
  CHECK_FALSE(classified(use).may_stand_awake());
}

TEST_CASE("where nobody else runs a wait is the scheduler's doing", "[causal]") {
  CoreUse use = beside_one();
  use.idle_ns = 2 * kSecond / 3;
  CHECK_FALSE(classified(use).shared());
  use.idle_ns.reset();
  CHECK(classified(use).shared());  // nobody knows
  SECTION("nor is it a stranger's where a followed process runs") {
    use = beside_one();
    CHECK(classified(use).shared());
    use.peers_cpu_ns = 2 * kSecond / 3 - use.stranger_wait_ns / 3;
    CHECK_FALSE(classified(use).shared());
  }
}

TEST_CASE("under a quota cores are shared, but no pause uses it up", "[causal]") {
  CoreUse use = beside_one();
  use.idle_ns = 2 * kSecond / 3;
  SECTION("the kernel tells of it") {
    const auto shared = classified(use, {.throttled = true});
    CHECK(shared.shared());
    CHECK_FALSE(shared.may_stand_awake());
  }
  SECTION("all threads stop together") {
    use.together_ns = 0.9 * use.withheld_ns;
    const auto shared = classified(use, {.used_up = {}});
    CHECK(shared.shared());
    CHECK_FALSE(shared.may_stand_awake());
  }
}

TEST_CASE("a quota is what stops all threads together in most of its periods", "[causal]") {
  CoreUse use = beside_one();
  use.together_ns = 0.9 * use.withheld_ns;
  CHECK(classified(use, {.throttled = true, .used_up = 0.9}).quota());
  CHECK_FALSE(classified(use, {.throttled = true, .used_up = 0.1}).quota());
  CHECK_FALSE(classified(use, {.used_up = 0}).quota());
  SECTION("where nobody tells, the cores idle meanwhile") {
    CHECK_FALSE(classified(use, {.used_up = {}}).quota());  // a stranger has them
    use.idle_ns = 2 * kSecond / 3;
    CHECK(classified(use, {.used_up = {}}).quota());
  }
  CHECK_FALSE(classified(beside_one(), {.throttled = true, .used_up = 0.9}).quota());
  SECTION("however short its stops are, if they are counted") {
    use.stranger_wait_ns = use.cpu_ns / 25;
    CHECK(classified(use, {.throttled = true, .used_up = 0.9}).quota());
    use.idle_ns = 2 * kSecond / 3;
    CHECK_FALSE(classified(use, {.used_up = {}}).quota());
  }
}

// Portions of 5 ms are used up at different times.
TEST_CASE("a quota may stop one thread after the other", "[causal]") {
  CoreUse use = stopped_together();
  use.together_ns = 0.4 * use.withheld_ns;
  const CpuLimits used_up{.throttled = true, .used_up = 0.9};
  CHECK(classified(use, used_up).quota());
  CHECK_FALSE(classified(use, {.used_up = {}}).quota());
  use.idle_ns = 0;  // strangers have what it leaves
  CHECK_FALSE(classified(use, used_up).quota());
}

TEST_CASE("pauses may leave CPU time over if a quota is used up now and then", "[causal]") {
  CHECK_FALSE(classified(beside_one()).near_quota());
  CHECK_FALSE(classified(beside_one(), {.throttled = true, .used_up = 0.1}).near_quota());
  CHECK(classified(beside_one(), {.throttled = true, .used_up = 0.3}).near_quota());
  CHECK(classified(stopped_together(), {.used_up = {}}).near_quota());
}

TEST_CASE("that pauses save a quota does not show that the program does", "[causal]") {
  constexpr auto use_only = SharedCores::Shows::use_of_quota;
  SharedCores shared;
  const CpuLimits used_up{.throttled = true, .used_up = 1, .granted = 1.6};
  shared.update(stopped_together(), kCores, used_up, use_only);
  CHECK(shared.quota());
  CHECK(shared.granted() == 1.6);
  CoreUse paused;
  paused.at_ns = kSecond;
  paused.cpu_ns = kSecond;
  paused.idle_ns = kSecond;
  const CpuLimits saved{.throttled = true};
  shared.update(paused, kCores, saved, use_only);
  CHECK(shared.quota());
  CHECK(shared.shared());
  CHECK_FALSE(shared.may_stand_awake());
  CHECK(shared.granted() == 1.6);
  shared.update(paused, kCores, saved, kBoth);
  CHECK_FALSE(shared.quota());
  CHECK_FALSE(shared.shared());
}

TEST_CASE("a quota that is used up in about half of its periods does not come and go", "[causal]") {
  SharedCores shared;
  const auto update = [&](double used_up) {
    shared.update(stopped_together(), kCores, {.throttled = true, .used_up = used_up}, kBoth);
    return shared.quota();
  };
  CHECK_FALSE(update(0.4));
  CHECK(update(0.6));
  CHECK(update(0.4));
  CHECK_FALSE(update(0.2));
  CHECK_FALSE(update(0.4));
}

// A thread that is alone in its target stops alone.
TEST_CASE("where every quota would be known a target may stop beside strangers only", "[causal]") {
  CoreUse use = beside_one();
  use.together_ns = use.withheld_ns;
  CHECK(classified(use, {.used_up = 0}).may_stand_awake());
  CHECK_FALSE(classified(use, {.used_up = {}}).may_stand_awake());
}

TEST_CASE("where a signal ends it after so much CPU time no pause uses that up", "[causal]") {
  const auto shared = classified(beside_one(), {.is_counted = true});
  CHECK(shared.shared());
  CHECK_FALSE(shared.may_stand_awake());
}

}  // namespace causalctl::causal
