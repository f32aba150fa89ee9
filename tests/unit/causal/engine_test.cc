// The loop from samples to pauses, against docs/virtual-time.md: a script plays the kernel, the
// clock and the pause channel. What is asked of the ledger is seen from outside only: by who is
// told to pause, and by the virtual time that visits are stamped with (real time less the lead).
#include "controller/causal/engine/engine.h"

#include <catch2/catch.hpp>

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
using test::Scene;

TEST_CASE("a sample in the unit is owed by the running others", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.samples(kOther, 1, 40, kOtherAddress);
  scene.run_until(50);
  // Rule 1: 40 ms of the unit at 50 %; rule 8: the other thread is told.
  CHECK(scene.engine.delay_ns() == 20 * kMs);
  CHECK(scene.most_asked_ns(kOther, 0, 60) == 20 * kMs);
  CHECK(scene.most_asked_ns(kFast, 0, 60) == 0);
  CHECK(scene.engine.samples_in_unit() == 40);
}

TEST_CASE("the trap of a visit takes no virtual time, in a baseline no more than else",
          "[causal][engine]") {
  const double speedup = GENERATE(0.0, 0.5);
  Scene scene(speedup, 2, 2 * kMs);
  scene.run_until(2);
  scene.engine.begin_window();
  for (int i = 0; i < 4; ++i) {
    scene.visit(kFast, 10 + 10 * i);
    scene.add(perf::VisitEvent{Scene::id(kFast), scene.at(15 + 10 * i), 1});  // not by a trap
  }
  scene.run_until(50);
  const auto done = scene.done();
  CHECK(done.visits == 4);
  CHECK(done.last_ns - done.first_ns == 3 * 8 * kMs);
  CHECK(scene.engine.delay_ns() == 8 * kMs);
  CHECK(scene.pauser.asked.empty());  // it makes nobody pause by itself
}

TEST_CASE("where all are paused as real time goes a visit's trap is work like any other",
          "[causal][engine]") {
  Scene scene(0, 2, 2 * kMs);
  scene.run_until(2);
  scene.engine.end();
  scene.engine.begin_uniform_pause(0.2, mode::UniformPause::Timing::prompt);
  for (int i = 0; i < 20; ++i) scene.visit(kFast, 10 + 5 * i);
  scene.run_until(112);
  CHECK(scene.most_asked_ns(kFast, 0, 112) >= 20 * kMs);  // as much as the other
  CHECK(scene.most_asked_ns(kFast, 0, 112) == scene.most_asked_ns(kOther, 0, 112));
}

TEST_CASE("the delay at a visit is known whenever it is seen, also when its thread has ended",
          "[causal][engine]") {
  Scene scene(0.5, 2, 0, std::nullopt, true);
  scene.samples(kFast, 1, 40);
  scene.visit(kFast, 45);
  for (const Tid tid : {kFast, kOther}) {
    scene.switches(tid, 46, perf::SwitchKind::out_blocked);
    scene.add(perf::ThreadExitEvent{Scene::id(tid), scene.at(46)});
  }
  scene.clock.now_ns = scene.at(60);  // the controller stalls
  scene.run_until(61);
  CHECK(scene.engine.delay_ns() == 0);  // nobody is left
  CHECK(scene.engine.delay_at_visit_ns() == 20 * kMs);
  CHECK(scene.done().last_ns == 45 * kMs - 20 * kMs);
}

TEST_CASE("nothing is owed in a baseline, nor after the end of earning", "[causal][engine]") {
  Scene baseline(0);
  baseline.samples(kFast, 1, 40);
  baseline.run_until(50);
  CHECK(baseline.engine.delay_ns() == 0);
  CHECK(baseline.pauser.asked.empty());

  Scene ended(0.5);
  ended.samples(kFast, 1, 20);
  ended.run_until(30);
  ended.engine.stop_earning();
  ended.samples(kFast, 31, 40);
  ended.run_until(80);
  CHECK(ended.engine.delay_ns() == 10 * kMs);
}

TEST_CASE("where all threads run the unit nobody pauses", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.samples(kOther, 1, 40);
  scene.run_until(50);
  CHECK(scene.engine.delay_ns() == 20 * kMs);
  CHECK(scene.most_asked_ns(kOther, 0, 60) == 0);
}

TEST_CASE("an experiment stays open for what a thread could pay", "[causal][engine]") {
  const bool short_of_cores = GENERATE(false, true);
  Scene scene(0.5, short_of_cores ? 1 : 2);
  if (short_of_cores) {  // most of the time until now
    scene.switches(kOther, 1, kPreempted);
    scene.switches(kOther, 401, kIn);
    scene.run_until(410);
    scene.begin();
  }
  scene.samples(kFast, 1, 100);
  CAPTURE(short_of_cores);
  SECTION("it runs") {
    scene.run_until(70);
    CHECK((scene.engine.open_debt_ns() == 0) == short_of_cores);  // some 35 ms
    scene.run_until(110);
    CHECK(scene.engine.open_debt_ns() == 50 * kMs);
  }
  SECTION("it waits for a core, which may be the controller's doing") {
    scene.switches(kOther, 105, kPreempted);
    scene.run_until(110);
    CHECK(scene.engine.open_debt_ns() == (short_of_cores ? 0 : 50 * kMs));
    scene.pauser.in_pause.insert(kOther);
    CHECK(scene.engine.open_debt_ns() == 50 * kMs);
  }
  SECTION("it sleeps, by itself or in a pause") {
    scene.switches(kOther, 105, kBlocked);
    scene.run_until(110);
    CHECK(scene.engine.open_debt_ns() == 0);
    scene.pauser.in_pause.insert(kOther);
    CHECK(scene.engine.open_debt_ns() == 50 * kMs);
  }
}

// 40 ms where threads wait for each other's cores, for a quarter of the time and core; else, where
// they wait at all, 10.
TEST_CASE("who waits for the target's own cores is paused later", "[causal][engine]") {
  constexpr Tid kThird = 103;
  Scene scene(0.5);
  const int waited_ms = GENERATE(150, 300);
  scene.add(perf::ThreadStartEvent{Scene::id(kThird), {}, scene.at(0.1)});
  scene.switches(kOther, 1, kPreempted);
  scene.switches(kThird, 1, kIn);  // on the same core
  scene.switches(kThird, 1 + waited_ms, kBlocked);
  scene.switches(kOther, 1 + waited_ms, kIn);
  scene.run_until(410);
  scene.begin();
  scene.samples(kFast, 1, 100);
  scene.run_until(70);  // some 35 ms are owed
  CHECK((scene.most_asked_ns(kOther, 0, 70) > 0) == (waited_ms == 150));
}

TEST_CASE("a pause is paid as measured, and what it costs besides", "[causal][engine]") {
  Scene scene(0.5);
  scene.engine.set_pause_cost(150 * kMicrosecond);
  scene.samples(kFast, 1, 40);
  scene.visit(kOther, 41);
  scene.pause(kOther, 42, 52);
  scene.visit(kOther, 53);
  scene.run_until(60);
  // Rule 3: 20 ms were owed, 10 ms were slept; both in the visits' virtual time …
  CHECK(scene.done().first_ns == 41 * kMs);
  CHECK(scene.done().last_ns == 53 * kMs - 10 * kMs - 150 * kMicrosecond);
  // … and in what is still owed.
  CHECK(scene.most_asked_ns(kOther, 54, 62) == 10 * kMs - 150 * kMicrosecond);
}

TEST_CASE("a shot that came too late costs what it costs, and no more", "[causal][engine]") {
  Scene scene(0.5);
  scene.engine.set_pause_cost(150 * kMicrosecond);
  scene.samples(kFast, 1, 40);
  scene.pauser.to_come.push_back({kOther, scene.at(42), scene.at(42), 30 * kMicrosecond});
  scene.run_until(60);
  CHECK(scene.most_asked_ns(kOther, 44, 62) == 20 * kMs - 30 * kMicrosecond);
}

TEST_CASE("a thread is armed only while it runs", "[causal][engine]") {
  for (const auto away : {kBlocked, kPreempted}) {
    Scene scene(0.5);
    scene.switches(kOther, 0.5, away);
    scene.samples(kFast, 1, 40);
    scene.run_until(60);
    CHECK(scene.most_asked_ns(kOther, 0, 62) == 0);
    CHECK(scene.engine.delay_ns() == 20 * kMs);
    // Rule 5: woken by nobody of the target, it owes what passed while it was away.
    scene.switches(kOther, 62, kIn);
    scene.run_until(70);
    CHECK(scene.most_asked_ns(kOther, 62, 72) == 20 * kMs);
  }
}

TEST_CASE("a wake-up by a thread that is ahead is credit, one in a hard interrupt is not",
          "[causal][engine]") {
  using perf::WakeContext;
  const auto owed_after = [](WakeContext context) {
    Scene scene(0.5);
    scene.switches(kOther, 0.5, kBlocked);
    scene.samples(kFast, 1, 40);
    scene.wake(kFast, kOther, 50, context);
    scene.switches(kOther, 50.02, kIn);
    scene.run_until(60);
    return scene.most_asked_ns(kOther, 0, 62);
  };
  // Rule 4: it waited for 49.5 ms for a thread that was 20 ms ahead.
  CHECK(owed_after(WakeContext::task) == 0);
  CHECK(owed_after(WakeContext::softirq) == 0);
  CHECK(owed_after(WakeContext::hardirq) == 20 * kMs);
}

TEST_CASE("credit of a wake-up is limited by the wait", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.run_until(42);
  scene.switches(kOther, 43, kBlocked);
  scene.wake(kFast, kOther, 49, perf::WakeContext::task);
  scene.switches(kOther, 49, kIn);  // a core was free
  scene.run_until(60);
  CHECK(scene.most_asked_ns(kOther, 50, 62) == 14 * kMs);
}

// Rule 1. One unit of the CPU time stands for what the controller took in between, too; not for
// what others did.
TEST_CASE("a unit is credited with the time that the controller takes from it",
          "[causal][engine]") {
  Nanoseconds foreign_ns = 0;
  const auto gained_ns = [&](std::uint32_t core_of_controller, double stolen_ms) {
    Scene scene(0.5);
    scene.clock.core_ = core_of_controller;
    scene.run_until(2);
    // The controller's next steps are 2 ms apart; one of them is in here.
    scene.switches(kFast, 4, kPreempted);
    const double woke_ms = 4.0;
    scene.run_until(woke_ms + 0.1);
    scene.switches(kFast, woke_ms + stolen_ms, kIn);
    scene.samples(kFast, 20, 20);
    scene.run_until(60);
    foreign_ns = scene.engine.cores().foreign_wait_ns();
    return scene.engine.delay_ns();
  };
  CHECK(gained_ns(Scene::core(kFast), 0.2) == 10 * kMs + kMs / 10);
  CHECK(foreign_ns == 0);
  CHECK(gained_ns(Scene::core(kFast), 3) == 10 * kMs + kMs / 4);  // longer than a step
  CHECK(foreign_ns == 2.5 * kMs);
  CHECK(gained_ns(Scene::core(kOther), 0.2) == 10 * kMs);  // not on its core
  CHECK(foreign_ns == 0.2 * kMs);
}

TEST_CASE("the target is looked at as seldom as its threads block", "[causal][engine]") {
  Scene scene(0.5);
  const auto tick_ns = [&scene] {
    scene.begin();
    scene.engine.step();  // planned before
    const Nanoseconds before_ns = scene.clock.now_ns;
    scene.engine.step();
    return scene.clock.now_ns - before_ns;
  };
  SECTION("by themselves") {
    for (double ms = 1; ms < 580; ms += 40) {
      scene.switches(kOther, ms, kBlocked);
      scene.switches(kOther, ms + 10, kIn);
    }
    scene.run_until(600);
    CHECK(tick_ns() == 4 * kMs);  // 15 times in 640 ms
  }
  SECTION("not in pauses of ours") {
    for (double ms = 1; ms < 580; ms += 20) scene.pause(kOther, ms, ms + 10);
    scene.pauser.in_pause = {kOther};
    scene.run_until(600);
    CHECK(tick_ns() == 8 * kMs);
  }
  SECTION("not in a uniform pause, in which they stand still") {
    scene.engine.end();
    scene.engine.begin_uniform_pause(0.6);
    for (double ms = 1; ms < 600; ++ms)
      scene.switches(kOther, ms, static_cast<int>(ms) % 2 == 1 ? kBlocked : kIn);
    scene.run_until(600);
    scene.engine.end();
    scene.run_until(1100);
    CHECK(tick_ns() == 8 * kMs);
  }
  SECTION("never, but the channel must poll") {
    scene.pauser.polls = true;
    scene.run_until(600);
    CHECK(tick_ns() == 2 * kMs);
  }
}

// One runs, one waits for its core.
TEST_CASE("a uniform pause of all at once asks those who wait for a core, too",
          "[causal][engine]") {
  Scene scene(0);
  scene.switches(kOther, 1, kPreempted);
  scene.run_until(5);
  scene.pauser.asked.clear();
  scene.engine.end();
  SECTION("in lumps of a millisecond, of all at the same moment") {
    scene.engine.begin_uniform_pause(0.1, mode::UniformPause::Timing::prompt);
    scene.run_until(60);
    const Nanoseconds first_ns = scene.pauser.asked.front().debt_ns;
    CHECK(first_ns >= kMillisecond);
    CHECK(scene.most_asked_ns(kOther, 0, 60) == scene.most_asked_ns(kFast, 0, 60));
    for (std::size_t i = 1; i < scene.pauser.asked.size(); i += 2) {
      CHECK(scene.pauser.asked[i].debt_ns == scene.pauser.asked[i - 1].debt_ns);
    }
  }
  SECTION("any other asks who runs") {
    scene.engine.begin_uniform_pause(0.1);
    scene.run_until(60);
    CHECK(scene.most_asked_ns(kFast, 0, 60) > 0);
    CHECK(scene.most_asked_ns(kOther, 0, 60) == 0);
  }
}

TEST_CASE("debts end with their experiment", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.run_until(50);
  REQUIRE(scene.most_asked_ns(kOther, 0, 52) > 0);
  scene.pauser.in_pause = {kOther};
  scene.pauser.asked.clear();
  scene.engine.end();
  // What is not slept yet is forgiven at once.
  REQUIRE(scene.pauser.asked.size() == 1);
  CHECK(scene.pauser.asked[0].thread == kOther);
  CHECK(scene.pauser.asked[0].debt_ns == 0);
  scene.pauser.in_pause.clear();
  scene.run_until(70);

  scene.engine.begin_experiment(*scene.attribution.find("unit.c:1"), 0.5, kPeriod);
  const double again_ms = 75;
  scene.visit(kOther, again_ms);
  scene.run_until(90);
  CHECK(scene.most_asked_ns(kOther, 50.1, 92) == 0);
  CHECK(scene.engine.delay_ns() == 0);
  // Virtual time is real time again.
  CHECK(scene.done().visits == 1);
  CHECK(scene.done().first_ns < 75 * kMs - 69 * kMs);
  CHECK(scene.done().first_ns > 0);
}

TEST_CASE("only the window counts, and its gains", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.visit(kOther, 20);
  scene.run_until(44);
  scene.visit(kFast, 44.5);  // before the window, though drained within it
  scene.samples(kFast, 47, 20);
  scene.visit(kFast, 70);
  scene.visit(kFast, 80);
  while (scene.clock.now_ns < scene.at(45)) scene.clock.now_ns += kMs;
  scene.engine.begin_window();
  const Nanoseconds window_ns = scene.clock.now_ns;
  scene.run_until(90);
  // Rule 9: 20 ms were gained on the way into the steady state, 10 ms in the window.
  CHECK(scene.engine.delay_ns() == 10 * kMs);
  CHECK(scene.engine.samples_in_unit() == 20);
  CHECK(scene.done().visits == 2);
  CHECK(scene.done().first_ns == scene.at(70) - window_ns - 10 * kMs);
  CHECK(scene.done().last_ns - scene.done().first_ns == 10 * kMs);
}

TEST_CASE("a time in which the controller was late tells nothing, unless the target has ended",
          "[causal][engine]") {
  const bool alive = GENERATE(true, false);
  Scene scene(0.5);
  scene.run_until(10);
  CHECK(scene.engine.verdict(0).empty());
  scene.source.alive = alive;
  scene.clock.late_ns = 60 * kMs;
  scene.engine.step();
  CHECK(scene.engine.verdict(0) == (alive ? "controller late by 60 ms" : ""));
}

TEST_CASE("a new thread inherits, and nothing is armed after an exec", "[causal][engine]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.run_until(44);
  constexpr Tid kChild = 103;
  scene.add(perf::ThreadStartEvent{Scene::id(kChild), Scene::id(kFast), scene.at(45)});
  scene.add(perf::SwitchEvent{Scene::id(kChild), scene.at(45.1), 2, kIn});
  scene.run_until(60);
  CHECK(scene.pauser.threads.contains(kChild));
  CHECK(scene.most_asked_ns(kChild, 0, 62) == 0);  // rule 7: as far ahead as its parent
  CHECK(scene.most_asked_ns(kOther, 46, 62) == 20 * kMs);

  scene.add(perf::ExecEvent{Scene::id(kFast), scene.at(63)});
  scene.run_until(64);
  scene.pauser.asked.clear();
  scene.run_until(80);
  CHECK(scene.engine.executed_other_program());
  CHECK(scene.pauser.asked.empty());
}

}  // namespace
}  // namespace causalctl::causal
