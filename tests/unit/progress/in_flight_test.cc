#include "controller/progress/in_flight.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "controller/base/unended_share.h"

namespace causalctl::progress {
namespace {

// A request each 2 ms, a little irregular, which lasts 5 ms; of each hundred `lost` never end, in a
// row, as when a client has gone. From `stall_ns` on none begins for 20 ms.
struct Stream {
  int lost = 0;
  Nanoseconds stall_ns = -1;
  std::multimap<Nanoseconds, int> changes;

  void make(Nanoseconds length_ns) {
    std::mt19937 random(7);
    std::uniform_int_distribution<Nanoseconds> jitter(0, 200'000);
    int number = 0;
    for (Nanoseconds now = 0; now < length_ns; now += 2'000'000 + jitter(random)) {
      if (stall_ns >= 0 && now >= stall_ns) {
        now += 20'000'000;
        stall_ns = -1;
      }
      changes.emplace(now, 1);
      if (number++ % 100 >= lost) changes.emplace(now + 5'000'000 + jitter(random), -1);
    }
  }
};

InFlight watched(const Stream& stream, Nanoseconds from_ns, Nanoseconds start_ns) {
  InFlight in_flight;
  bool started = false;
  for (const auto& [at_ns, by] : stream.changes) {
    if (at_ns < from_ns) continue;
    if (at_ns >= start_ns && !std::exchange(started, true)) in_flight.start();
    const Nanoseconds time_ns = started ? at_ns - start_ns : at_ns;
    by > 0 ? in_flight.begin_at(time_ns) : in_flight.end_at(time_ns);
  }
  return in_flight;
}

TEST_CASE("requests in flight are known after a moment without one", "[progress]") {
  Stream never;
  never.make(2 * kSecond);
  CHECK_FALSE(watched(never, kSecond, kSecond).was_empty());
  Stream stalls;
  stalls.stall_ns = 1'500'000'000;
  stalls.make(2 * kSecond);
  CHECK(watched(stalls, kSecond, kSecond).was_empty());
}

TEST_CASE("requests that never end do not count as in flight", "[progress]") {
  constexpr double ms = 1e6;
  for (const int lost : {1, 10}) {
    Stream stream;
    stream.lost = lost;
    stream.make(10 * kSecond);
    const InFlight in_flight = watched(stream, kSecond, 3 * kSecond);
    const Nanoseconds mean_ns = in_flight.mean_of_ended(7 * kSecond);
    // Not above the truth, 5.1 ms, and below it by less than the two that are always in flight.
    CHECK(mean_ns > 0);
    CHECK(static_cast<double>(mean_ns) < 6 * ms);
    CHECK(static_cast<double>(in_flight.mean(7 * kSecond)) > 20 * ms);
  }
  CHECK(InFlight().mean_of_ended(kSecond) == 0);
}

TEST_CASE("without requests that never end both means are one", "[progress]") {
  Stream stream;
  stream.make(5 * kSecond);
  const InFlight in_flight = watched(stream, 0, kSecond);
  CHECK(in_flight.mean_of_ended(4 * kSecond) == in_flight.mean(4 * kSecond));
  CHECK(static_cast<double>(in_flight.mean(4 * kSecond)) == Approx(5.1e6).epsilon(0.02));
}

TEST_CASE("what the kernel tells late was so from the start", "[progress]") {
  InFlight in_flight;
  in_flight.begin_at(10);
  in_flight.start();
  in_flight.begin_at(100);
  in_flight.late(-1);
  in_flight.end_at(150);
  CHECK((in_flight.at_start() == 0 && in_flight.now() == 0));
  CHECK((in_flight.seen().begins == 1 && in_flight.seen().ends == 1));
  CHECK(in_flight.mean(1000) == 50);
  in_flight.late(1);
  CHECK((in_flight.at_start() == 1 && in_flight.mean(1000) == 1050));
}

std::vector<BeginsAndEnds> windows_of(double lost, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> in_flight(0, 6);
  std::vector<BeginsAndEnds> windows;
  for (std::size_t i = 0; i < count; ++i) {
    const int change = in_flight(random) - in_flight(random);
    windows.push_back({1000, static_cast<std::uint64_t>(1000 * (1 - lost) + change)});
  }
  return windows;
}

TEST_CASE("begins without an end are told from those in flight", "[progress]") {
  int told = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    told += unended_share(windows_of(0, 8, seed)).has_value();
    const auto one = unended_share(windows_of(0.01, 8, seed));
    REQUIRE(one);
    CHECK(one->low < 0.0115);
    CHECK(one->high > 0.0085);
  }
  CHECK(told == 0);
  const auto tenth = unended_share(windows_of(0.1, 8, 1));
  REQUIRE(tenth);
  CHECK(tenth->value == Approx(0.1).margin(0.003));
  CHECK_FALSE(unended_share(windows_of(0.1, 3, 1)));
  CHECK_FALSE(unended_share(windows_of(-0.1, 8, 1)));
  CHECK_FALSE(unended_share(std::vector<BeginsAndEnds>(8)));
}

}  // namespace
}  // namespace causalctl::progress
