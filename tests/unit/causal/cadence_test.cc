#include "controller/causal/engine/cadence.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

struct CadenceScene {
  Cadence cadence;
  Nanoseconds now_ns = kSecond;
  Nanoseconds core_wait_ns = 0;
  Nanoseconds own_wait_ns = 0;
  CadenceScene() { cadence.start(now_ns); }
  // The target's threads block this often, and wait for cores for this long, summed.
  void pass(Nanoseconds time_ns, int blocks, Nanoseconds waited_ns = 0, bool tells = true,
            double own_share = 1) {
    for (int i = 0; i < blocks; ++i) cadence.blocked();
    now_ns += time_ns;
    core_wait_ns += waited_ns;
    own_wait_ns += static_cast<Nanoseconds>(own_share * static_cast<double>(waited_ns));
    cadence.passed(now_ns, tells);
    cadence.update(now_ns, core_wait_ns, own_wait_ns);
  }
};

}  // namespace

TEST_CASE("ticks are as long as the target's threads go without blocking", "[causal][cadence]") {
  CadenceScene scene;
  CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);  // the value before anything is known
  CHECK(scene.cadence.threshold_ns() == 5 * kMillisecond);
  SECTION("never") {
    scene.pass(kSecond, 0);
    CHECK(scene.cadence.tick_ns() == 8 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 20 * kMillisecond);
  }
  SECTION("every 90 ms") {
    scene.pass(kSecond, 11);
    CHECK(scene.cadence.tick_ns() == 8 * kMillisecond);
  }
  SECTION("every 40 ms") {
    scene.pass(kSecond, 25);
    CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 10 * kMillisecond);
  }
  SECTION("every 25 ms") {
    scene.pass(kSecond, 40);
    CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  }
  SECTION("every millisecond") {
    scene.pass(kSecond, 1000);
    CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  }
}

TEST_CASE("ticks only ever get shorter, and not for a burst", "[causal][cadence]") {
  CadenceScene scene;
  scene.pass(kSecond, 0);
  REQUIRE(scene.cadence.tick_ns() == 8 * kMillisecond);
  scene.pass(kSecond, 40);
  CHECK(scene.cadence.tick_ns() == 8 * kMillisecond);
  scene.pass(4 * kSecond, 0);  // 40 in 5 s
  CHECK(scene.cadence.tick_ns() == 8 * kMillisecond);
  for (int i = 0; i < 5; ++i) scene.pass(kSecond, 25);
  CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
  for (int i = 0; i < 10; ++i) scene.pass(kSecond, 0);
  CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
  scene.pass(kSecond / 2, 500);  // often enough to be certain at once
  CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  for (int i = 0; i < 10; ++i) scene.pass(kSecond, 0);
  CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
}

TEST_CASE("a tick is not chosen by what was seen in a moment", "[causal][cadence]") {
  CadenceScene scene;
  scene.pass(300 * kMillisecond, 0);
  CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  scene.pass(700 * kMillisecond, 25);
  CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
}

TEST_CASE("while threads owe time they block less, which tells nothing", "[causal][cadence]") {
  CadenceScene scene;
  scene.pass(kSecond, 0, 0, false);
  CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  scene.pass(kSecond, 25);
  CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
  scene.pass(10 * kSecond, 10'000, 0, false);
  CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
}

TEST_CASE("where threads wait for cores or by spinning ticks are short", "[causal][cadence]") {
  CadenceScene scene;
  SECTION("for cores") {
    scene.pass(kSecond, 0, 300 * kMillisecond);
    CHECK(scene.cadence.oversubscribed());
    CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 40 * kMillisecond);
    scene.pass(kSecond, 0, 0);
    CHECK_FALSE(scene.cadence.oversubscribed());
    CHECK(scene.cadence.threshold_ns() == 5 * kMillisecond);
  }
  SECTION("for cores, hardly") {
    scene.pass(kSecond, 0, 200 * kMillisecond);
    CHECK_FALSE(scene.cadence.oversubscribed());
    CHECK(scene.cadence.tick_ns() == 8 * kMillisecond);
  }
  SECTION("for cores, for once") {
    scene.pass(kSecond, 0);
    scene.pass(kSecond, 0, 300 * kMillisecond);
    CHECK(scene.cadence.oversubscribed());
    scene.pass(4 * kSecond, 0);
    CHECK(scene.cadence.tick_ns() == 8 * kMillisecond);
  }
  SECTION("for cores that other programs have") {
    scene.pass(kSecond, 0, 300 * kMillisecond, true, 0.8);
    CHECK(scene.cadence.oversubscribed());
    CHECK(scene.cadence.threshold_ns() == 10 * kMillisecond);
    scene.pass(kSecond, 0, 300 * kMillisecond, true, 0.9);
    CHECK(scene.cadence.threshold_ns() == 40 * kMillisecond);
  }
  SECTION("for cores, in short experiments") {
    scene.cadence.limit_threshold(20 * kMillisecond);
    scene.pass(kSecond, 0, 300 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 20 * kMillisecond);
    scene.cadence.limit_threshold(2 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 5 * kMillisecond);
  }
  SECTION("and the threshold is what was asked for, where it was") {
    scene.cadence.fix_threshold(3 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 3 * kMillisecond);
    scene.pass(kSecond, 0, 300 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == 3 * kMillisecond);
    scene.cadence.waits_by_spinning();
    CHECK(scene.cadence.threshold_ns() == 3 * kMillisecond);
  }
  SECTION("by spinning") {
    scene.cadence.waits_by_spinning();
    scene.pass(kSecond, 0);
    CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
    CHECK(scene.cadence.threshold_ns() == kMillisecond);
  }
}

TEST_CASE("a tick has a limit", "[causal][cadence]") {
  CadenceScene scene;
  SECTION("before it is chosen") {
    scene.cadence.limit(5 * kMillisecond);
    scene.pass(kSecond, 0);
    CHECK(scene.cadence.tick_ns() == 4 * kMillisecond);
  }
  SECTION("afterwards") {
    scene.pass(kSecond, 0);
    scene.cadence.limit(2 * kMillisecond);
    CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  }
  SECTION("that is below the shortest") {
    scene.cadence.limit(kMillisecond);
    scene.pass(kSecond, 0);
    CHECK(scene.cadence.tick_ns() == 2 * kMillisecond);
  }
}

}  // namespace causalctl::causal
