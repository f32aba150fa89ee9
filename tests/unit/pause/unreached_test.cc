#include "controller/pause/unreached.h"

#include <catch2/catch.hpp>

namespace causalctl::pause {
namespace {

constexpr Nanoseconds kBetween = 50 * kMillisecond;

// Looks at a thread, so far apart.
class Looks {
 public:
  explicit Looks(Nanoseconds between_ns = kBetween) : between_ns_(between_ns) {}

  bool running(bool blocks) { return look({now_ns_, true, blocks, false, 1, 0}); }
  bool asleep(bool blocks) { return look({now_ns_, false, blocks, false, 1, 0}); }

  bool look(const ShotLook& now) {
    now_ns_ += between_ns_;
    return thread_.look(now);
  }

 private:
  Nanoseconds between_ns_;
  Nanoseconds now_ns_ = kSecond;
  Unreached thread_;
};

constexpr int kMany = 1000;

}  // namespace

TEST_CASE("a thread blocks SIGTRAP for good when it is found so many times, for long", "[pause]") {
  const auto found_after = [](Nanoseconds between_ns) {
    Looks thread(between_ns);
    int looks = 1;
    while (looks < kMany && !thread.running(true)) ++looks;
    return looks;
  };
  CHECK(found_after(kBetween) == Unreached::kBlockedLooks);
  CHECK(found_after(kMillisecond) == 1 + Unreached::kBlockedFor / kMillisecond);
}

// posix_spawn() blocks all signals until the child has begun its program; sigsuspend() for as long
// as it waits.
TEST_CASE("a thread that blocks SIGTRAP now and then, asleep, or not at all is reached",
          "[pause]") {
  Looks never;
  Looks asleep;
  Looks sometimes;
  for (int looks = 0; looks < kMany; ++looks) {
    REQUIRE_FALSE(never.running(false));
    REQUIRE_FALSE(asleep.asleep(true));
    REQUIRE_FALSE(sometimes.running(looks % Unreached::kBlockedLooks != 0));
  }
}

TEST_CASE("sleeping with another mask does not make a thread that blocks SIGTRAP reached",
          "[pause]") {
  Looks thread;
  int blocked = 1;
  while (blocked < kMany && !thread.running(true)) {
    ++blocked;
    REQUIRE_FALSE(thread.asleep(false));  // in ppoll(), say
  }
  CHECK(blocked == Unreached::kBlockedLooks);
}

TEST_CASE("a spent shot of a thread that has run since was somebody else's", "[pause]") {
  constexpr Nanoseconds start_ns = 7 * kSecond;
  constexpr Nanoseconds later_ns = start_ns + Unreached::kRunSinceSpent;
  const auto found = [&](const ShotLook& last) {
    Unreached thread;
    REQUIRE_FALSE(thread.look({1, true, false, false, 4, 0}));  // it has not fired yet
    REQUIRE_FALSE(thread.look({2, true, false, false, 5, start_ns}));
    return thread.look(last);
  };
  CHECK(found({3, true, false, false, 5, later_ns}));
  CHECK(found({3, false, false, false, 5, later_ns}));
  CHECK_FALSE(found({3, true, false, false, 5, later_ns - 1}));  // a tick's lag, or on its way
  CHECK_FALSE(found({3, true, false, false, 6, later_ns}));      // the event counts
  CHECK_FALSE(found({3, true, false, true, 5, later_ns}));       // the signal waits
  CHECK_FALSE(found({3, true, true, false, 5, later_ns}));       // or will
}

}  // namespace causalctl::pause
