// Tests the ledger when strangers share the cores (rule 13 of docs/virtual-time.md).
#include <catch2/catch.hpp>

#include "controller/causal/engine/ledger.h"
#include "tests/unit/causal/threads.h"

namespace causalctl::causal {

using test::kA;
using test::kB;
using test::kC;
using test::kCpu0;
using test::kCpu1;

namespace {

// B waits for 9 ms because of a stranger, and gets a core that A, which is ahead of it, has just
// left.
struct BesideStrangers {
  explicit BesideStrangers(int cores = 3) : ledger(Ledger::UnseenCredit::none, cores) {
    for (const Tid tid : {kA, kB}) ledger.start_thread(tid, 0, 0);
    ledger.share_cores(true);
    ledger.switched_in(kA, kCpu0, 0);
    ledger.switched_in(kB, kCpu1, 0);
    ledger.earn(kA, 5 * kMillisecond);
  }
  Ledger::OnCore wait(bool in_pause = false) {
    ledger.switched_out(kB, kCpu1, kMillisecond, true, in_pause);
    ledger.switched_out(kA, kCpu0, 10 * kMillisecond, true, false);
    return ledger.switched_in(kB, kCpu0, 10 * kMillisecond);
  }
  Ledger ledger;
};

}  // namespace

TEST_CASE("who waits for strangers takes nothing over from the thread before it",
          "[causal][ledger]") {
  BesideStrangers scene;
  const bool shared = GENERATE(true, false);
  scene.ledger.share_cores(shared);
  const Ledger::OnCore on_core = scene.wait();
  CHECK(on_core.waited_ns == 9 * kMillisecond);
  CHECK(on_core.kept_off_ns == (shared ? 9 * kMillisecond : 0));
  CHECK(scene.ledger.stranger_wait_ns() == 9 * kMillisecond);
  CHECK(scene.ledger.lead(kB) == (shared ? 0 : 5 * kMillisecond));
}

TEST_CASE("how long a new thread has waited for strangers is not known", "[causal][ledger]") {
  BesideStrangers scene;
  scene.ledger.start_thread(kC, kA, kMillisecond);
  CHECK(scene.ledger.switched_in(kC, kCpu1, 9 * kMillisecond).kept_off_ns == 0);
  CHECK(scene.ledger.stranger_wait_ns() == 0);
}

TEST_CASE("where the target is short of cores itself its waits are for its own threads",
          "[causal][ledger]") {
  BesideStrangers scene(1);  // A runs all the time, and B waits
  const Ledger::OnCore on_core = scene.wait();
  CHECK(on_core.kept_off_ns == 0);
  CHECK(scene.ledger.lead(kB) == 5 * kMillisecond);
}

// Three threads share two cores. All of them wait for strangers, but one would have waited anyway.
TEST_CASE("beside strangers a target that is short of cores has one lead for them, too",
          "[causal][ledger]") {
  Ledger ledger(Ledger::UnseenCredit::none, 2);
  for (const Tid tid : {kA, kB, kC}) ledger.start_thread(tid, 0, 0);
  ledger.share_cores(true);
  ledger.switched_in(kA, kCpu0, 0);
  ledger.switched_in(kB, kCpu1, 0);
  ledger.switched_in(kC, kCpu0, 0);
  ledger.earn(kA, 8 * kMillisecond);
  for (const Tid tid : {kA, kB, kC}) ledger.switched_out(tid, tid % 2, kMillisecond, true, false);
  ledger.switched_in(kA, kCpu0, 9 * kMillisecond);
  ledger.switched_out(kA, kCpu0, 10 * kMillisecond, true, false);
  const Ledger::OnCore on_core = ledger.switched_in(kB, kCpu0, 10 * kMillisecond);
  CHECK(2 * on_core.kept_off_ns > on_core.waited_ns);
  CHECK(ledger.lead(kB) == 4 * kMillisecond);
}

TEST_CASE("a followed process on the target's cores is no stranger", "[causal][ledger]") {
  constexpr Tid kPeer = 50;
  constexpr std::uint32_t kCpu2 = 2;
  BesideStrangers scene;
  scene.ledger.start_peer(kPeer, 0, true);
  const bool on_target_core = GENERATE(true, false);
  if (on_target_core) {
    scene.ledger.switched_in(kC, kCpu2, 0);  // the core had no known thread
    scene.ledger.start_thread(kC, 0, 0);
    scene.ledger.switched_in(kC, kCpu2, 0);
    scene.ledger.switched_out(kC, kCpu2, kMillisecond, false, false);
  }
  scene.ledger.switched_in(kPeer, kCpu2, kMillisecond);
  // Of three cores one is A's and one the peer's, so a stranger has at most the third.
  scene.ledger.start_thread(kC + 1, 0, 0);
  scene.ledger.switched_in(kC + 1, 7, 0);
  const Ledger::OnCore on_core = scene.wait();
  CHECK(on_core.kept_off_ns == (on_target_core ? 0 : 9 * kMillisecond));
}

TEST_CASE("a wait within a pause of ours is in the pause as measured", "[causal][ledger]") {
  BesideStrangers scene;
  const bool shared = GENERATE(true, false);
  scene.ledger.share_cores(shared);
  scene.wait(true);
  CHECK(scene.ledger.lead(kB) == 0);
  CHECK(scene.ledger.core_wait_ns() == 9 * kMillisecond);
}

// A passes progress points; B and C do not.
TEST_CASE("how often those that make progress meet others, and how long they run",
          "[causal][ledger]") {
  Ledger ledger(Ledger::UnseenCredit::none, 4);
  for (const Tid tid : {kA, kB, kC}) {
    ledger.start_thread(tid, 0, 0);
    ledger.switched_in(tid, tid, 0);
  }
  ledger.switched_out(kB, kB, 1000, false, false);  // the latest time that is known
  ledger.visited(kA);
  ledger.woken(kB, kA, 3000);
  ledger.switched_in(kB, kB, 3000);
  CHECK(ledger.meetings().visitors_cpu_ns == 2000);
  CHECK(ledger.meetings().met == 1);
  ledger.switched_out(kA, kA, 5000, false, false);
  ledger.woken(kA, kB, 6000);
  ledger.switched_in(kA, kA, 6500);
  CHECK(ledger.meetings().met == 2);
  CHECK(ledger.meetings().visitors_cpu_ns == 4000);
  SECTION("not of others among themselves") {
    ledger.switched_out(kC, kC, 7000, false, false);
    ledger.woken(kC, kB, 8000);
    CHECK(ledger.meetings().met == 2);
  }
  SECTION("devices, told by an interrupt") {
    ledger.switched_out(kA, kA, 7500, false, false);
    ledger.woken_externally(kA, 8000);
    CHECK(ledger.meetings().ended_externally == 1);
    CHECK(ledger.meetings().visitors_cpu_ns == 5000);
  }
  SECTION("… or seen when it runs; of one that makes progress") {
    for (const Tid tid : {kA, kC}) ledger.switched_out(tid, tid, 7500, false, false);
    for (const Tid tid : {kA, kC}) ledger.switched_in(tid, tid, 8000);
    CHECK(ledger.meetings().ended_externally == 1);
  }
  SECTION("a pause of ours is no meeting") {
    ledger.switched_out(kA, kA, 7500, false, true);
    ledger.switched_in(kA, kA, 8000);
    CHECK(ledger.meetings().ended_externally == 0);
  }
  SECTION("one that ends runs no more") {
    ledger.end_thread(kA, 7000);
    ledger.switched_out(kB, kB, 9000, false, false);
    CHECK(ledger.meetings().visitors_cpu_ns == 4500);
  }
}

TEST_CASE("in a run that is one unit of work all threads of the target make progress",
          "[causal][ledger]") {
  constexpr Tid kPeer = 50;
  Ledger ledger(Ledger::UnseenCredit::none, 4);
  const bool one_unit = GENERATE(true, false);
  if (one_unit) ledger.count_all_as_visitors();
  ledger.start_thread(kA, 0, 0);
  ledger.start_peer(kPeer, 0, false);
  for (const Tid tid : {kA, kPeer}) {
    ledger.switched_in(tid, tid, 0);
    ledger.switched_out(tid, tid, 4000, false, false);
  }
  SECTION("its CPU time counts, and not that of a peer") {
    CHECK(ledger.meetings().visitors_cpu_ns == (one_unit ? 4000 : 0));
  }
  SECTION("an interrupt tells that a device ends a wait") {
    for (const Tid tid : {kA, kPeer}) ledger.woken_externally(tid, 5000);
    CHECK(ledger.meetings().ended_externally == (one_unit ? 1 : 0));
  }
  SECTION("that it runs tells so") {
    for (const Tid tid : {kA, kPeer}) ledger.switched_in(tid, tid, 5000);
    CHECK(ledger.meetings().ended_externally == (one_unit ? 1 : 0));
  }
  SECTION("one thread ends the wait of another") {
    ledger.woken(kPeer, kA, 5000);
    CHECK(ledger.meetings().met == (one_unit ? 1 : 0));
  }
}

// The peer waits for A, which passes progress points, and has run for 40 of 100 ms. Another peer
// waits for no thread.
TEST_CASE("the CPU time of peers is told, and what coupled ones have of it", "[causal][ledger]") {
  constexpr Tid kPeer = 50, kOtherPeer = 51;
  constexpr Nanoseconds kMs = kMillisecond;
  Ledger ledger(Ledger::UnseenCredit::none, 4);
  ledger.start_thread(kA, 0, 0);
  for (const Tid tid : {kPeer, kOtherPeer}) ledger.start_peer(tid, 0, false);
  for (const Tid tid : {kA, kPeer, kOtherPeer}) ledger.switched_in(tid, tid, 0);
  ledger.visited(kA);
  ledger.switched_out(kOtherPeer, kOtherPeer, 30 * kMs, true, false);
  ledger.switched_out(kPeer, kPeer, 40 * kMs, false, false);
  ledger.woken(kPeer, kA, 100 * kMs);
  ledger.switched_out(kA, kA, 100 * kMs, true, false);
  const CoupledTime time = ledger.couple();
  CHECK(time.busiest_ns == 100 * kMs);
  CHECK(time.peers_ns == 40 * kMs);
  CHECK(time.all_peers_ns == 70 * kMs);
  SECTION("a new thread is coupled as that which made it") {
    ledger.start_thread(kB, kA, 100 * kMs);
    ledger.start_thread(kC, 0, 100 * kMs);
    CHECK(ledger.is_coupled(kB));
    CHECK_FALSE(ledger.is_coupled(kC));
  }
}

// B wakes A every 20 ms, after a wait of this length; C runs by itself.
TEST_CASE("threads that wait for others are coupled, if one of them makes progress",
          "[causal][ledger]") {
  Ledger ledger(Ledger::UnseenCredit::none, 4);
  for (const Tid tid : {kA, kB, kC}) {
    ledger.start_thread(tid, 0, 0);
    ledger.switched_in(tid, tid, 0);
  }
  const Nanoseconds wait_ns = GENERATE(1, 10) * kMillisecond / 10;
  for (Nanoseconds at_ns = 20 * kMillisecond; at_ns <= 240 * kMillisecond;
       at_ns += 20 * kMillisecond) {
    ledger.switched_out(kA, kA, at_ns - wait_ns, false, false);
    ledger.woken(kA, kB, at_ns);
    ledger.switched_in(kA, kA, at_ns);
  }
  SECTION("nobody makes progress") {
    CHECK(ledger.couple().busiest_ns == 0);
    CHECK_FALSE(ledger.is_coupled(kA));
  }
  SECTION("one does") {
    ledger.visited(kA);
    const Nanoseconds busiest_ns = ledger.couple().busiest_ns;
    const bool long_enough = wait_ns == kMillisecond;  // 5 % of their CPU time, instead of 0.5
    CHECK(busiest_ns == (long_enough ? 240 * kMillisecond : 0));
    CHECK(ledger.is_coupled(kA) == long_enough);
    CHECK(ledger.is_coupled(kB) == long_enough);
    CHECK_FALSE(ledger.is_coupled(kC));
    SECTION("for as long as they do") {
      ledger.switched_out(kC, kC, 480 * kMillisecond, false, false);
      CHECK(ledger.couple().busiest_ns == 0);
      CHECK_FALSE(ledger.is_coupled(kA));
    }
  }
  SECTION("one that waits for nobody does") {
    ledger.visited(kC);
    CHECK(ledger.couple().busiest_ns == 0);
    CHECK_FALSE(ledger.is_coupled(kB));
  }
}

}  // namespace causalctl::causal
