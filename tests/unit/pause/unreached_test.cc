#include "controller/pause/unreached.h"

#include <catch2/catch.hpp>

namespace causalctl::pause {
namespace {

constexpr Nanoseconds kBetween = 50 * kMillisecond;
constexpr int kMany = 1000;

// Looks at a thread, so far apart; it runs for a microsecond between two.
class Looks {
 public:
  explicit Looks(Nanoseconds between_ns = kBetween) : between_ns_(between_ns) {}

  bool running(bool blocks) { return look(true, blocks, ++cpu_ns_); }
  bool preempted(bool blocks) { return look(true, blocks, cpu_ns_); }
  bool asleep(bool blocks) { return look(false, blocks, ++cpu_ns_); }

 private:
  bool look(bool runs, bool blocks, Nanoseconds cpu_ns) {
    now_ns_ += between_ns_;
    return thread_.look({now_ns_, runs, blocks, false, 1, cpu_ns});
  }

  Nanoseconds between_ns_;
  Nanoseconds now_ns_ = kSecond;
  Nanoseconds cpu_ns_ = 0;
  Unreached thread_;
};

int blocked_looks(Nanoseconds between_ns) {
  Looks thread(between_ns);
  int looks = 1;
  while (looks < kMany && !thread.running(true)) ++looks;
  return looks;
}

}  // namespace

TEST_CASE("a thread blocks SIGTRAP for good when it is found so many times, for long", "[pause]") {
  CHECK(blocked_looks(kBetween) == Unreached::kBlockedLooks);
  CHECK(blocked_looks(kMillisecond) == 1 + Unreached::kBlockedFor / kMillisecond);
}

TEST_CASE("each look counts where the kernel does not tell CPU times", "[pause]") {
  Unreached thread;
  int looks = 1;
  while (looks < kMany && !thread.look({looks * kBetween, true, true, false, 1, 0})) ++looks;
  CHECK(looks == Unreached::kBlockedLooks);
}

TEST_CASE("a thread that never runs with SIGTRAP blocked is reached", "[pause]") {
  Looks never;
  Looks asleep;
  Looks preempted;  // where it blocks it for a moment
  (void)preempted.running(true);
  for (int looks = 0; looks < kMany; ++looks) {
    REQUIRE_FALSE(never.running(false));
    REQUIRE_FALSE(asleep.asleep(true));
    REQUIRE_FALSE(preempted.preempted(true));
  }
}

// Awake in ppoll(), waiting for a core, it shows the mask of that call.
TEST_CASE("letting SIGTRAP in while it waits does not make a thread reached", "[pause]") {
  Looks thread;
  int blocked = 1;
  while (blocked < kMany && !thread.running(true)) {
    ++blocked;
    REQUIRE_FALSE(thread.asleep(false));
    REQUIRE_FALSE(thread.preempted(false));
  }
  CHECK(blocked == Unreached::kBlockedLooks);
}

TEST_CASE("a spent shot of a thread that has run since was somebody else's", "[pause]") {
  constexpr Nanoseconds start_ns = 7 * kSecond;
  constexpr Nanoseconds later_ns = start_ns + Unreached::kRunSinceSpent;
  constexpr ShotLook spent{3, true, false, false, 5, later_ns};
  const auto found = [&](const ShotLook& between, const ShotLook& last) {
    Unreached thread;
    REQUIRE_FALSE(thread.look({1, true, false, false, 4, 0}));  // it has not fired yet
    REQUIRE_FALSE(thread.look({2, true, false, false, 5, start_ns}));
    REQUIRE_FALSE(thread.look(between));
    return thread.look(last);
  };
  constexpr ShotLook nothing{2, true, false, false, 5, start_ns};
  CHECK(found(nothing, spent));
  CHECK(found(nothing, {3, false, false, false, 5, later_ns}));
  CHECK_FALSE(found(nothing, {3, true, false, false, 5, later_ns - 1}));  // on its way
  CHECK_FALSE(found(nothing, {3, true, false, false, 6, later_ns}));      // the event counts
  CHECK_FALSE(found(nothing, {3, true, false, true, 5, later_ns}));       // the signal waits
  CHECK_FALSE(found(nothing, {3, true, true, false, 5, later_ns}));       // or will
  CHECK_FALSE(found({2, true, false, true, 5, start_ns}, spent));         // or did till now
  CHECK_FALSE(found({2, true, true, false, 5, start_ns}, spent));
}

}  // namespace causalctl::pause
