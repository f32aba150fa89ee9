#include "controller/causal/analysis/beside_strangers.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

// Threads wait for a third of the time for which they run or wait. There are 10 s of CPU time, half
// of it of threads that pass progress points.
CoreTotals ten_seconds(std::uint64_t met, std::uint64_t ended_externally = 0) {
  return {10 * kSecond, 5 * kSecond, 5 * kSecond, met, ended_externally};
}

}  // namespace

TEST_CASE("how much strangers stretch what is saved", "[causal]") {
  const CoresShared shared = classify(ten_seconds(0));
  CHECK(shared.waited_share == Approx(1.0 / 3));
  CHECK(shared.stretch == Approx(1.5));
  CHECK(shared.matters);
  CoreTotals few = ten_seconds(0);
  few.stranger_wait_ns = few.cpu_ns / 25;
  CHECK_FALSE(classify(few).matters);
  few.stranger_wait_ns = few.cpu_ns / 15;
  CHECK(classify(few).matters);
}

TEST_CASE("where nothing is known there is nothing to widen", "[causal]") {
  for (const CoreTotals& totals : {CoreTotals{}, CoreTotals{0, -5, 0, 0, 0}}) {
    const CoresShared shared = classify(totals);
    CHECK(shared.waited_share == 0);
    CHECK(shared.stretch == 1);
    CHECK_FALSE(shared.matters);
    CHECK(shared.meeting == Meeting::often);
  }
}

TEST_CASE("how often threads meet, against a slice of 3 ms", "[causal]") {
  CHECK(classify(ten_seconds(0)).meeting == Meeting::apart);
  CHECK(classify(ten_seconds(160)).meeting == Meeting::apart);   // 31 ms apart
  CHECK(classify(ten_seconds(170)).meeting == Meeting::seldom);  // 29 ms apart
  CHECK(classify(ten_seconds(1600)).meeting == Meeting::seldom);
  CHECK(classify(ten_seconds(1700)).meeting == Meeting::often);
  SECTION("of another length") {
    CHECK(classify(ten_seconds(1700), kMillisecond).meeting == Meeting::seldom);
  }
  SECTION("threads that never ran, and met") {
    CHECK(classify({kSecond, 0, 0, 3, 0}).meeting == Meeting::often);
  }
}

TEST_CASE("threads that meet by spinning meet within a slice", "[causal]") {
  CoreTotals totals = ten_seconds(0);
  totals.spin = true;
  CHECK(classify(totals).meeting == Meeting::often);
}

TEST_CASE("more than two cores are many", "[causal]") {
  CoreTotals totals = ten_seconds(0);
  totals.cores = 2;
  CHECK_FALSE(classify(totals).many_cores);
  totals.cores = 3;
  CHECK(classify(totals).many_cores);
}

TEST_CASE("threads that devices wake are as hard as those that meet within a slice", "[causal]") {
  CHECK(classify(ten_seconds(0, 160)).meeting == Meeting::apart);
  CHECK(classify(ten_seconds(0, 170)).meeting == Meeting::often);
}

}  // namespace causalctl::causal
