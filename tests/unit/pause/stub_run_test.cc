#include "controller/pause/stub_run.h"

#include <catch2/catch.hpp>
#include <limits>

#include "controller/base/error.h"

namespace causalctl::pause {
namespace {

constexpr Nanoseconds kNow = 1000 * kSecond;

tracee::Slot after_a_run() {
  tracee::Slot slot;
  slot.paid_total_ns = 70 * kMillisecond;
  slot.entered = slot.left = 3;
  slot.entered_at_ns = kNow - 30 * kMillisecond;
  slot.left_at_ns = kNow - 10 * kMillisecond;
  return slot;
}

constexpr Nanoseconds kBefore = 50 * kMillisecond;

}  // namespace

TEST_CASE("what a slot held before its run is known to be plausible", "[pause]") {
  CHECK_THROWS_AS(last_run(after_a_run(), -1, kNow), Bug);
}

TEST_CASE("what the stub has written is read", "[pause]") {
  const auto run = last_run(after_a_run(), kBefore, kNow);
  REQUIRE(run);
  CHECK(run->start_ns == kNow - 30 * kMillisecond);
  CHECK(run->end_ns == kNow - 10 * kMillisecond);
  CHECK(run->paid_total_ns == 70 * kMillisecond);

  tracee::Slot empty = after_a_run();  // a void shot
  empty.left_at_ns = empty.entered_at_ns;
  empty.paid_total_ns = kBefore;
  CHECK(last_run(empty, kBefore, kNow));
}

TEST_CASE("what it cannot have written is not", "[pause]") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  const auto is_read = [](auto change) {
    tracee::Slot slot = after_a_run();
    change(slot);
    return last_run(slot, kBefore, kNow).has_value();
  };
  CHECK_FALSE(is_read([](tracee::Slot& slot) { slot.paid_total_ns += 1; }));
  CHECK_FALSE(is_read([](tracee::Slot& slot) { slot.paid_total_ns = most; }));
  CHECK_FALSE(is_read([](tracee::Slot& slot) { slot.paid_total_ns = least; }));
  CHECK_FALSE(is_read([](tracee::Slot& slot) { slot.left_at_ns = slot.entered_at_ns - 1; }));
  CHECK_FALSE(is_read([](tracee::Slot& slot) {  // in the future
    slot.entered_at_ns += kNow;
    slot.left_at_ns += kNow;
  }));
  CHECK_FALSE(is_read([](tracee::Slot& slot) {  // too large a number
    slot.entered_at_ns = least;
    slot.left_at_ns = most;
  }));
  CHECK_FALSE(is_plausible_total(most));
  CHECK_FALSE(is_plausible_total(-1));
}

}  // namespace causalctl::pause
