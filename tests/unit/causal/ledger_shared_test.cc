// The ledger where strangers share the cores (rule 14 of docs/virtual-time.md).
#include <catch2/catch.hpp>

#include "controller/causal/ledger.h"

namespace causalctl::causal {
namespace {

constexpr Tid kA = 1, kB = 2, kC = 3;
constexpr std::uint32_t kCpu0 = 0, kCpu1 = 1;

// B waits for 9 ms because of a stranger, and comes to a core that A, ahead of it, left just then.
struct BesideStrangers {
  explicit BesideStrangers(int cores = 3) : ledger(Ledger::BlindCredit::none, cores) {
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
  CHECK(scene.ledger.local(kB) == (shared ? 0 : 5 * kMillisecond));
}

TEST_CASE("where the target is short of cores itself its waits are for its own threads",
          "[causal][ledger]") {
  BesideStrangers scene(1);  // A runs all the while, B waits
  const Ledger::OnCore on_core = scene.wait();
  CHECK(on_core.kept_off_ns == 0);
  CHECK(scene.ledger.local(kB) == 5 * kMillisecond);
}

TEST_CASE("a followed process on the target's cores is no stranger", "[causal][ledger]") {
  constexpr Tid kPeer = 50;
  constexpr std::uint32_t kCpu2 = 2;
  BesideStrangers scene;
  scene.ledger.start_outsider(kPeer, 0, true);
  const bool on_target_core = GENERATE(true, false);
  if (on_target_core) {
    scene.ledger.switched_in(kC, kCpu2, 0);  // nobody that is known
    scene.ledger.start_thread(kC, 0, 0);
    scene.ledger.switched_in(kC, kCpu2, 0);
    scene.ledger.switched_out(kC, kCpu2, kMillisecond, false, false);
  }
  scene.ledger.switched_in(kPeer, kCpu2, kMillisecond);
  // One of three cores is A's, and one is the peer's: a stranger has the third one at most.
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
  CHECK(scene.ledger.local(kB) == 0);
  CHECK(scene.ledger.core_wait_ns() == 9 * kMillisecond);
}

}  // namespace causalctl::causal
