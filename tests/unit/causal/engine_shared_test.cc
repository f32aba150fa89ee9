// The loop where strangers share the cores (rule 13 of docs/virtual-time.md).
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/unit/causal/engine_scene.h"

namespace causalctl::causal {
namespace {

using test::kBlocked;
using test::kFast;
using test::kIn;
using test::kMs;
using test::kOther;
using test::kOtherAddress;
using test::kPeriod;
using test::kPreempted;
using test::kStubAddress;
using test::Scene;

// Strangers have kept kOther from its core for so much of the 200 ms that kFast has run, all in the
// unit. The controller is elsewhere.
struct Shared : Scene {
  explicit Shared(double waited_ms = 60, const CpuLimits& of_target = {}) : Scene(0.5) {
    limits = of_target;
    clock.core_ = 5;
    samples(kFast, 1, 200);
    switches(kOther, 10, kPreempted);
    switches(kOther, 10 + waited_ms, kIn);
    run_until(210);
    engine.end();
    begin();
  }
};

}  // namespace

TEST_CASE("who waits for strangers earns the unit's share of the wait", "[causal][engine]") {
  const double waited_ms = GENERATE(60.0, 4.0);  // of 200
  Shared scene(waited_ms);
  scene.samples(kFast, 1, 40);
  scene.wait(kFast, 50, 70);
  scene.run_until(80);
  // Half of the wait, at a speedup of 50 %.
  CHECK(scene.engine.delay_ns() == (waited_ms > 10 ? 20 * kMs + 10 * kMs : 20 * kMs));
}

TEST_CASE("that cores are shared is seen within a long experiment, too", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 1000, kOtherAddress);
  scene.wait(kOther, 10, 800);
  scene.run_until(900);
  CHECK_FALSE(scene.pauser.awake);
  scene.run_until(1100);
  CHECK(scene.pauser.awake);
}

TEST_CASE("that cores are shared is seen soon where the run is one unit of work",
          "[causal][engine]") {
  const bool one_unit = GENERATE(true, false);
  Scene scene(0.5, 2, 0, std::nullopt, one_unit);
  scene.samples(kFast, 1, 300, kOtherAddress);
  scene.wait(kOther, 10, 150);
  scene.run_until(300);
  CHECK(scene.pauser.awake == one_unit);
}

// A peer has the core for which kOther waits.
TEST_CASE("the CPU time of peers is known, and nobody else's", "[causal][engine]") {
  constexpr Tid kPeer = 50;
  Scene scene(0.5);
  scene.idle_ns = 0;
  const bool follows = GENERATE(true, false);
  const auto run = [&] {
    if (follows) scene.add(perf::ThreadStartEvent{Scene::id(kPeer), {}, scene.at(0), false, true});
    scene.samples(kFast, 1, 200);
    scene.switches(kOther, 10, kPreempted);
    if (follows) scene.switches(kPeer, 10, kIn);
    if (follows) scene.switches(kPeer, 190, kPreempted);
    scene.switches(kOther, 190, kIn);
    scene.run_until(210);
    scene.engine.end();
    scene.begin();
  };
  run();
  const CoreTotals before = scene.engine.core_totals();
  run();
  const CoreTotals since = scene.engine.core_totals() - before;
  CHECK((since.peers_cpu_ns > 150 * kMs) == follows);
}

// kOther waits for 100 ms. Both cores idle before the experiment, and not in it, so that strangers
// have had 120 ms, or 20 if a peer has had the rest.
TEST_CASE("what peers take of the cores strangers do not have", "[causal][engine]") {
  constexpr Tid kPeer = 50;
  Scene scene(0.5, 2, 0, 0);
  scene.idle_ns = 76 * kMs;
  const bool follows = GENERATE(true, false);
  if (follows) {
    scene.add(perf::ThreadStartEvent{Scene::id(kPeer), {}, scene.at(0), false, true});
    scene.add(perf::SwitchEvent{Scene::id(kPeer), scene.at(10), 7, kIn});
    scene.add(perf::SwitchEvent{Scene::id(kPeer), scene.at(110), 7, kPreempted});
  }
  scene.samples(kFast, 1, 200);
  scene.samples(kOther, 111, 80);
  scene.wait(kOther, 10, 110);
  scene.run_until(200);
  scene.engine.end();
  scene.engine.begin_counting();
  CHECK(scene.pauser.awake == !follows);
}

TEST_CASE("how long the cores idle is told since the attach", "[causal][engine]") {
  Scene scene(0.5, 2, 0, 700 * kMs);
  scene.idle_ns = 750 * kMs;
  CHECK(scene.engine.core_totals().idle_ns == 50 * kMs);
  CHECK(scene.engine.core_totals().cores == 2);
  scene.idle_ns.reset();
  CHECK(scene.engine.core_totals().cores == 0);
}

TEST_CASE("that threads spin is told of their meetings", "[causal][engine]") {
  Scene scene(0.5);
  scene.code_spins = GENERATE(true, false);
  scene.samples(kFast, 1, 100, kOtherAddress);
  scene.run_until(110);
  scene.engine.check_for_spinning();
  CHECK(scene.engine.core_totals().spin == scene.code_spins);
}

TEST_CASE("beside strangers pauses are awake, but where a quota is used up", "[causal][engine]") {
  CHECK(Shared().pauser.awake);
  CHECK_FALSE(Shared(4).pauser.awake);
  CHECK_FALSE(Shared(60, {.throttled = true}).pauser.awake);
  SECTION("they sleep again when the strangers have gone") {
    Shared scene;
    scene.samples(kFast, 1, 200, kOtherAddress);
    scene.run_until(210);
    scene.engine.end();
    scene.begin();
    CHECK_FALSE(scene.pauser.awake);
  }
}

TEST_CASE("a wait within a pause is paid, not earned", "[causal][engine]") {
  Shared scene;
  scene.samples(kOther, 1, 40);  // both run the unit: nothing is owed
  scene.samples(kFast, 1, 40);
  scene.run_until(45);
  scene.pauser.in_pause = {kOther};
  scene.wait(kOther, 50, 70);
  scene.pauser.to_come.push_back({kOther, scene.at(46), scene.at(75), 0, true});
  scene.run_until(75);
  scene.pauser.in_pause.clear();
  scene.run_until(90);
  CHECK(scene.engine.delay_ns() == 20 * kMs + 29 * kMs);
}

TEST_CASE("samples in a pause are nobody's", "[causal][engine]") {
  Shared scene;
  const Nanoseconds cpu_ns = scene.engine.cpu_time_ns();
  const Nanoseconds all_ns = scene.engine.core_totals().cpu_ns;
  const std::uint64_t total = scene.attribution.total();
  scene.samples(kOther, 1, 40, kStubAddress);
  scene.run_until(45);
  CHECK(scene.engine.cpu_time_ns() == cpu_ns);
  CHECK(scene.engine.core_totals().cpu_ns == all_ns + 40 * kMs);
  CHECK(scene.attribution.total() == total);
}

// It runs for 1 ms between two waits, half of which is the unit.
TEST_CASE("a pause that is awake is no part of what its thread runs", "[causal][engine]") {
  const bool awake = GENERATE(true, false);
  Shared scene;
  for (int i = 0; i < 40; ++i) {
    scene.switches(kFast, 1 + 2 * i, kBlocked);
    scene.switches(kFast, 2 + 2 * i, kIn);
    scene.samples(kFast, 2.5 + 2 * i, 1, i % 2 == 0 ? kOtherAddress : test::kUnitAddress);
  }
  scene.switches(kFast, 81, kBlocked);
  scene.run_until(90);
  const Nanoseconds before_ns = scene.engine.delay_ns();
  scene.switches(kFast, 91, kIn);
  scene.pauser.to_come.push_back({kFast, scene.at(91.4), scene.at(93.4), 0, awake});
  scene.switches(kFast, 94, kBlocked);
  scene.run_until(100);
  const Nanoseconds earned_ns = scene.engine.delay_ns() - before_ns - 2 * kMs;
  // Without a sample an interval of 3 ms earns nothing.
  CHECK(earned_ns == Approx(awake ? kMs / 4 : 0).margin(kMs / 20));
}

// kFast, which passes a progress point, wakes kOther after each 8 ms.
TEST_CASE("what threads that wait for each other run of the unit is counted", "[causal][engine]") {
  const double wait_ms = GENERATE(2.0, 0.1);
  Shared scene;
  const auto meet = [&] {
    scene.visit(kFast, 0.5);
    scene.samples(kFast, 1, 200);
    for (int i = 0; i < 20; ++i) scene.samples(kOther, 10 * i + 1.5, 5, kOtherAddress);
    for (double ms = 10; ms < 200; ms += 10) {
      scene.switches(kOther, ms - wait_ms, kBlocked);
      scene.wake(kFast, kOther, ms, perf::WakeContext::task);
      scene.switches(kOther, ms, kIn);
    }
    scene.wait(kOther, 195, 201);
    scene.run_until(210);
    scene.engine.end();
    scene.begin();
  };
  meet();
  const CoreTotals before = scene.engine.core_totals();
  meet();
  const CoreTotals since = scene.engine.core_totals() - before;
  const bool coupled = wait_ms > 1;
  CHECK(since.coupled_cpu_ns == (coupled ? 300 * kMs : 0));
  CHECK(since.coupled_unit_ns == (coupled ? 200 * kMs : 0));
  CHECK((since.busiest_cpu_ns > 0) == coupled);
  CHECK(since.cores == 0);  // nobody tells how long they idle
}

TEST_CASE("what threads run of the unit that rest and wait for nobody is counted",
          "[causal][engine]") {
  const bool timer = GENERATE(true, false);
  Scene scene(0.5);
  scene.switches(kFast, 10, kBlocked);
  scene.wake(kOther, kFast, 11, timer ? perf::WakeContext::hardirq : perf::WakeContext::task);
  scene.switches(kFast, 11, kIn);
  scene.samples(kFast, 12, 20);
  scene.samples(kFast, 32, 5, kOtherAddress);
  scene.samples(kFast, 120, 20);  // it has not rested for long
  scene.run_until(150);
  CHECK(scene.engine.core_totals().resting_unit_ns == (timer ? 20 * kMs : 0));
}

TEST_CASE("a quota that an earlier run used up is known from the start", "[causal][engine]") {
  const bool known = GENERATE(true, false);
  Scene scene(0.5, 2, 0, std::nullopt, true, known);
  for (const Tid each : {kFast, kOther}) scene.wait(each, 10, 60);
  scene.run_until(80);
  CHECK(scene.engine.quota_stopped_ns() == (known ? 50 * kMs : 0));
  CHECK((scene.engine.core_totals().quota_stopped_ns == 50 * kMs) == known);
  CHECK(scene.engine.delay_ns() < kMs);  // nothing is earned in a wait before the first sample
}

// Both threads stop for 60 ms of each 100, and kFast runs the unit in between.
void stop_for_half_a_second(Scene& scene) {
  for (double ms = 0; ms < 500; ms += 100) {
    for (const Tid each : {kFast, kOther}) {
      scene.switches(each, ms + 40, kPreempted);
      scene.switches(each, ms + 99.9, kIn);
    }
    scene.samples(kFast, ms + 1, 38);
  }
  scene.run_until(500);
}

TEST_CASE("while a quota stops all threads virtual time stands still", "[causal][engine]") {
  const int cores = GENERATE(2, 1);  // on one core half of each thread's wait is foreign
  Scene scene(0.5, cores);
  const bool quota = GENERATE(true, false);
  scene.limits = {.throttled = quota, .used_up = quota ? 1 : 0, .granted = 0.8};
  stop_for_half_a_second(scene);
  scene.begin();
  const CoreTotals before = scene.engine.core_totals();
  stop_for_half_a_second(scene);
  const Nanoseconds stopped_ns = 5 * 599 * kMs / 10;
  CHECK(scene.engine.quota_stopped_ns() == (quota ? stopped_ns : 0));
  const CoreTotals since = scene.engine.core_totals() - before;
  CHECK(since.quota_stopped_ns == (quota ? stopped_ns : 0));
  CHECK((since.quota_granted_ns > 390 * kMs) == quota);
  CHECK((std::abs(since.stranger_wait_ns) < 10 * kMs) == quota);  // nobody else caused a wait
  // As much as was sampled, without the waits.
  if (quota) CHECK(scene.engine.delay_ns() == Approx(5 * 38 * kMs / 2).margin(2 * kMs));
  if (!quota) CHECK(scene.engine.delay_ns() > 5 * 50 * kMs / 2);
  SECTION("visits come as much sooner, and a pause has paid as much less") {
    scene.visit(kOther, 501);
    scene.pauser.to_come.push_back({kOther, scene.at(402), scene.at(499.95), 0, false});
    scene.run_until(510);
    const Nanoseconds last_ns = scene.counters.throughput().front().last_ns;
    const double paid_ms = quota ? 97.95 - 59.9 : 97.95;
    const double stopped_ms = quota ? 299.5 : 0;
    CHECK(last_ns == Approx((501 - stopped_ms - paid_ms) * kMs).margin(kMs));
  }
}

TEST_CASE("a quota that is used up holds until time without pauses shows otherwise",
          "[causal][engine]") {
  Scene scene(0.5);
  scene.limits = {.throttled = true, .used_up = 1, .granted = 0.8};
  stop_for_half_a_second(scene);
  scene.begin();
  const auto stopped_ns = [&](double ms) {  // of a wait of both for 40 ms
    for (const Tid each : {kFast, kOther}) scene.wait(each, ms, ms + 40);
    scene.run_until(ms + 50);
    return scene.engine.quota_stopped_ns();
  };
  CHECK(stopped_ns(10) == 40 * kMs);
  scene.limits = {.throttled = true, .used_up = 0};
  scene.samples(kFast, 100, 400);
  scene.run_until(500);
  scene.pauser.totals_.paid_ns = 200 * kMs;
  scene.begin();
  // A check within the window sees no pause since.
  scene.samples(kFast, 1, 1500);
  scene.run_until(1500);
  CHECK(stopped_ns(1510) == 40 * kMs);
  scene.samples(kFast, 1600, 400);
  scene.run_until(2000);
  scene.begin();
  CHECK(stopped_ns(10) == 0);
}

}  // namespace causalctl::causal
