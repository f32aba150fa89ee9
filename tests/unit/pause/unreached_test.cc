#include "controller/pause/unreached.h"

#include <catch2/catch.hpp>

namespace causalctl::pause {
namespace {

constexpr Nanoseconds kBetween = 50 * kMillisecond;
constexpr int kMany = 1000;

// Polls of a thread at this distance; it runs for a microsecond between two.
class Polls {
 public:
  explicit Polls(Nanoseconds between_ns = kBetween) : between_ns_(between_ns) {}

  bool running(bool blocks) { return poll(true, blocks, ++cpu_ns_); }
  bool preempted(bool blocks) { return poll(true, blocks, cpu_ns_); }
  bool asleep(bool blocks) { return poll(false, blocks, ++cpu_ns_); }

 private:
  bool poll(bool runs, bool blocks, Nanoseconds cpu_ns) {
    now_ns_ += between_ns_;
    return thread_.poll({now_ns_, runs, blocks, false, 1, cpu_ns});
  }

  Nanoseconds between_ns_;
  Nanoseconds now_ns_ = kSecond;
  Nanoseconds cpu_ns_ = 0;
  Unreached thread_;
};

int blocked_polls(Nanoseconds between_ns) {
  Polls thread(between_ns);
  int polls = 1;
  while (polls < kMany && !thread.running(true)) ++polls;
  return polls;
}

}  // namespace

TEST_CASE("a thread blocks SIGTRAP for good when it is found so many times, for long", "[pause]") {
  CHECK(blocked_polls(kBetween) == Unreached::kBlockedPolls);
  CHECK(blocked_polls(kMillisecond) == 1 + Unreached::kBlockedFor / kMillisecond);
}

TEST_CASE("each poll counts where the kernel does not tell CPU times", "[pause]") {
  Unreached thread;
  int polls = 1;
  while (polls < kMany && !thread.poll({polls * kBetween, true, true, false, 1, 0})) ++polls;
  CHECK(polls == Unreached::kBlockedPolls);
}

TEST_CASE("a thread that never runs with SIGTRAP blocked is reached", "[pause]") {
  Polls never;
  Polls asleep;
  Polls preempted;  // it blocks the signal for a moment there
  (void)preempted.running(true);
  for (int polls = 0; polls < kMany; ++polls) {
    REQUIRE_FALSE(never.running(false));
    REQUIRE_FALSE(asleep.asleep(true));
    REQUIRE_FALSE(preempted.preempted(true));
  }
}

// A thread that is awake in ppoll(), waiting for a core, shows the mask of that call.
TEST_CASE("letting SIGTRAP in while it waits does not make a thread reached", "[pause]") {
  Polls thread;
  int blocked = 1;
  while (blocked < kMany && !thread.running(true)) {
    ++blocked;
    REQUIRE_FALSE(thread.asleep(false));
    REQUIRE_FALSE(thread.preempted(false));
  }
  CHECK(blocked == Unreached::kBlockedPolls);
}

TEST_CASE("a spent shot of a thread that has run since was somebody else's", "[pause]") {
  constexpr Nanoseconds start_ns = 7 * kSecond;
  constexpr Nanoseconds later_ns = start_ns + Unreached::kRunSinceSpent;
  constexpr ShotPoll spent{3, true, false, false, 5, later_ns};
  const auto found = [&](const ShotPoll& between, const ShotPoll& last) {
    Unreached thread;
    REQUIRE_FALSE(thread.poll({1, true, false, false, 4, 0}));  // the shot has not fired yet
    REQUIRE_FALSE(thread.poll({2, true, false, false, 5, start_ns}));
    REQUIRE_FALSE(thread.poll(between));
    return thread.poll(last);
  };
  constexpr ShotPoll nothing{2, true, false, false, 5, start_ns};
  CHECK(found(nothing, spent));
  CHECK(found(nothing, {3, false, false, false, 5, later_ns}));
  CHECK_FALSE(found(nothing, {3, true, false, false, 5, later_ns - 1}));  // it is on its way
  CHECK_FALSE(found(nothing, {3, true, false, false, 6, later_ns}));      // the event still counts
  CHECK_FALSE(found(nothing, {3, true, false, true, 5, later_ns}));       // the signal is pending
  CHECK_FALSE(found(nothing, {3, true, true, false, 5, later_ns}));       // or will be
  CHECK_FALSE(found({2, true, false, true, 5, start_ns}, spent));         // or was until now
  CHECK_FALSE(found({2, true, true, false, 5, start_ns}, spent));
}

}  // namespace causalctl::pause
