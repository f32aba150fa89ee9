#include "controller/causal/engine/credit.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace causalctl::causal {
namespace {

constexpr Tid kThread = 7;
constexpr Nanoseconds kSamplePeriod = kMillisecond;
constexpr Nanoseconds kHeld = 200 * kMicrosecond;
constexpr Nanoseconds kOutside = 300 * kMicrosecond;

// A thread that takes turns: it is woken with the lock, holds it, wakes the next thread, works
// outside, and blocks. It is sampled every millisecond of its CPU time, at a random point of the
// turn.
struct Turns {
  explicit Turns(double speedup) { credit.begin(speedup, 2 * kSamplePeriod, true); }

  Nanoseconds compute(Nanoseconds length_ns, bool in_unit) {
    Nanoseconds earned_ns = 0;
    to_sample_ns -= length_ns;
    if (to_sample_ns <= 0) {
      earned_ns += credit.sampled(kThread, in_unit, kSamplePeriod, now_ns + length_ns / 2);
      to_sample_ns += kSamplePeriod + jitter(random);
    }
    now_ns += length_ns;
    return earned_ns;
  }

  void turn(bool unit_is_held) {
    credit.switched_in(kThread, 0, now_ns);
    held_ns += compute(kHeld, unit_is_held);
    held_ns += credit.woke_another(kThread, now_ns);
    outside_ns += compute(kOutside, !unit_is_held);
    outside_ns += credit.blocked(kThread, now_ns);
    now_ns += 500 * kMicrosecond;
  }

  Credit credit;
  std::mt19937 random{1};
  std::uniform_int_distribution<Nanoseconds> jitter{-250 * kMicrosecond, 250 * kMicrosecond};
  Nanoseconds now_ns = kSecond;
  Nanoseconds to_sample_ns = kSamplePeriod;
  Nanoseconds held_ns = 0;
  Nanoseconds outside_ns = 0;
};

}  // namespace

TEST_CASE("short intervals earn what is expected of their kind", "[causal][credit]") {
  const bool unit_is_held = GENERATE(true, false);
  Turns turns(0.5);
  constexpr int kTurns = 10'000;
  for (int i = 0; i < kTurns; ++i) turns.turn(unit_is_held);
  const Nanoseconds length_ns = unit_is_held ? kHeld : kOutside;
  const double expected = 0.5 * kTurns * static_cast<double>(length_ns);
  // Of n = 5,000 samples, p n fall in the unit, with the spread of a binomial number at most; the
  // bound is 4 sigma.
  const double share = static_cast<double>(length_ns) / static_cast<double>(kHeld + kOutside);
  const double tolerance = 4 * std::sqrt((1 - share) / (share * kTurns / 2));
  const Nanoseconds right_ns = unit_is_held ? turns.held_ns : turns.outside_ns;
  const Nanoseconds wrong_ns = unit_is_held ? turns.outside_ns : turns.held_ns;
  CHECK(std::abs(static_cast<double>(right_ns) / expected - 1) < tolerance);
  CHECK(wrong_ns == 0);
}

TEST_CASE("no short interval earns more than it lasted", "[causal][credit]") {
  Turns turns(1.0);
  for (int i = 0; i < 200; ++i) turns.turn(true);  // what is learned at first is a rough guess
  for (int i = 0; i < 1000; ++i) {
    const Nanoseconds before_ns = turns.held_ns;
    turns.turn(true);
    REQUIRE(turns.held_ns - before_ns <= 2 * kHeld);
    REQUIRE(turns.held_ns > before_ns);
  }
}

TEST_CASE("a long interval earns with each sample, at once", "[causal][credit]") {
  Credit credit;
  credit.begin(0.5, 2 * kSamplePeriod, true);
  Nanoseconds now_ns = kSecond;
  credit.switched_in(kThread, 0, now_ns);
  // The interval may be a short one.
  CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kSamplePeriod) == 0);
  CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kSamplePeriod) == 0);
  CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kSamplePeriod) ==
        3 * kSamplePeriod / 2);
  CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kSamplePeriod) == kSamplePeriod / 2);
  CHECK(credit.blocked(kThread, now_ns + kSamplePeriod / 2) == 0);
}

TEST_CASE("time off the core belongs to no interval", "[causal][credit]") {
  Credit credit;
  credit.begin(1.0, 2 * kSamplePeriod, true);
  credit.switched_in(kThread, 0, 0);
  credit.left_core(kThread, kHeld);  // it was preempted, or paused by us, for long
  credit.switched_in(kThread, 0, kSecond);
  CHECK(credit.sampled(kThread, true, kHeld, kSecond + kHeld) == 0);
  // Half of its 0.4 ms belongs to the unit, by the only sample, which stands for 0.2 ms.
  CHECK(credit.blocked(kThread, kSecond + kHeld) == kHeld);
}

TEST_CASE("who leaves its core in the middle is given what was sampled, set off at the end",
          "[causal][credit]") {
  Turns turns(1.0);
  for (int i = 0; i < 1000; ++i) turns.turn(true);
  Credit& credit = turns.credit;
  Nanoseconds now_ns = turns.now_ns;
  credit.switched_in(kThread, 0, now_ns);
  CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kHeld / 2) == 0);
  CHECK(credit.left_core(kThread, now_ns) == kSamplePeriod);
  credit.switched_in(kThread, 0, now_ns += kSecond);
  const Nanoseconds earned_ns = credit.woke_another(kThread, now_ns += kHeld / 2);
  CHECK(kSamplePeriod + earned_ns == Approx(kHeld).epsilon(0.1));
}

TEST_CASE("time stolen by another program counts as that of the code it was stolen from",
          "[causal][credit]") {
  Credit credit;
  credit.begin(1.0, kSamplePeriod / 2, true);
  credit.switched_in(kThread, 0, 0);
  Nanoseconds now_ns = kSamplePeriod;
  const auto stolen = [&](Nanoseconds length_ns) {
    credit.left_core(kThread, now_ns);
    now_ns += length_ns;
    credit.switched_in(kThread, length_ns, now_ns);
  };
  stolen(30);
  stolen(40);
  const bool in_unit = GENERATE(true, false);
  const Nanoseconds earned_ns =
      credit.sampled(kThread, in_unit, kSamplePeriod, now_ns += kSamplePeriod);
  CHECK(earned_ns == (in_unit ? kSamplePeriod + 70 : 0));
  CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kSamplePeriod) ==
        kSamplePeriod);  // and only once
}

// Two of its three latest samples were in the unit.
TEST_CASE("a wait for strangers earns the unit's share of it, when it is over",
          "[causal][credit]") {
  Credit credit;
  credit.begin(0.5, kSamplePeriod / 2, true);
  Nanoseconds now_ns = 0;
  const auto wait = [&](Nanoseconds stolen_ns, Nanoseconds kept_off_ns) {
    credit.left_core(kThread, now_ns);
    now_ns += kept_off_ns;
    return credit.switched_in(kThread, stolen_ns, now_ns, kept_off_ns);
  };
  CHECK(wait(0, 9 * kMillisecond) == 0);  // nothing is known of the thread
  for (int i = 0; i < 3000; ++i) {
    const bool in_unit = i % 3 != 2;
    CHECK(credit.sampled(kThread, in_unit, kSamplePeriod, now_ns += kSamplePeriod) ==
          (in_unit ? kSamplePeriod / 2 : 0));
  }
  SECTION("in proportion") {
    CHECK(wait(0, 9 * kMillisecond) == Approx(3 * kMillisecond).epsilon(0.01));
    CHECK(wait(0, 0) == 0);
    CHECK(credit.sampled(kThread, true, kSamplePeriod, now_ns += kSamplePeriod) ==
          kSamplePeriod / 2);
  }
  SECTION("what the controller took of it is the next sample's") {
    CHECK(wait(3 * kMillisecond, 9 * kMillisecond) == Approx(2 * kMillisecond).epsilon(0.01));
  }
  SECTION("what it did long ago is forgotten") {
    for (int i = 0; i < 3000; ++i)
      credit.sampled(kThread, false, kSamplePeriod, now_ns += kSamplePeriod);
    CHECK(wait(0, 9 * kMillisecond) < kMicrosecond);
  }
  SECTION("another unit has another share") {
    credit.begin(0.5, kSamplePeriod / 2, true);
    CHECK(wait(0, 9 * kMillisecond) == 0);
  }
  SECTION("nothing is learned between experiments, nor earned") {
    credit.end();
    for (int i = 0; i < 3000; ++i)
      credit.sampled(kThread, false, kSamplePeriod, now_ns += kSamplePeriod);
    CHECK(wait(0, 9 * kMillisecond) == 0);
    credit.begin(0.5, kSamplePeriod / 2, false);
    CHECK(wait(0, 9 * kMillisecond) == Approx(3 * kMillisecond).epsilon(0.01));
  }
}

TEST_CASE("the CPU time of a pause belongs to no interval", "[causal][credit]") {
  Credit credit;
  credit.begin(1.0, 2 * kSamplePeriod, true);
  credit.switched_in(kThread, 0, 0);
  credit.paused(kThread, kSecond);  // ends now
  Nanoseconds now_ns = kSecond;
  // The interval is a short one so far.
  CHECK(credit.sampled(kThread, true, kHeld, now_ns += kHeld) == 0);
  // By its samples half of its 0.4 ms belongs to the unit.
  CHECK(credit.blocked(kThread, now_ns += kHeld) == kHeld);
}

TEST_CASE("a thread with little of its own is taken to be like the others", "[causal][credit]") {
  Credit credit;
  credit.begin(1.0, 2 * kSamplePeriod, true);
  Nanoseconds now_ns = 0;
  // Half of the samples of another thread are in the unit; each of its intervals lasts a period.
  for (int i = 0; i < 1000; ++i) {
    credit.switched_in(kThread, 0, now_ns);
    credit.sampled(kThread, i % 2 == 0, kSamplePeriod, now_ns += kSamplePeriod);
    credit.blocked(kThread, now_ns);
  }
  credit.switched_in(kThread + 1, 0, now_ns);
  // It has one interval without a sample in the unit, and counts four like the average of all
  // threads.
  CHECK(credit.blocked(kThread + 1, now_ns + kSamplePeriod) ==
        Approx(0.4 * kSamplePeriod).epsilon(0.01));
}

TEST_CASE("another unit is learned from nothing", "[causal][credit]") {
  Turns turns(1.0);
  for (int i = 0; i < 100; ++i) turns.turn(true);
  SECTION("the same unit keeps what is known") {
    turns.credit.begin(1.0, 2 * kSamplePeriod, false);
    turns.held_ns = 0;
    turns.to_sample_ns = kSecond;
    turns.turn(true);
    CHECK(turns.held_ns > 0);
  }
  SECTION("another one does not") {
    turns.credit.begin(1.0, 2 * kSamplePeriod, true);
    turns.held_ns = 0;
    turns.to_sample_ns = kSecond;
    turns.turn(true);
    CHECK(turns.held_ns == 0);
  }
}

TEST_CASE("a thread that was never seen earns nothing", "[causal][credit]") {
  Credit credit;
  credit.begin(1.0, kSamplePeriod, true);
  CHECK(credit.woke_another(kThread, 5) == 0);
  CHECK(credit.blocked(kThread, 5) == 0);
}

}  // namespace causalctl::causal
