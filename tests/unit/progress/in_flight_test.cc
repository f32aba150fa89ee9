#include "controller/progress/in_flight.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "controller/base/unpaired_share.h"

namespace causalctl::progress {
namespace {

// A request each 2 ms, a little irregular, which lasts 5 ms; of each hundred `lost` never end, in a
// row, as when a client has gone. From `stall_ns` on none begins for 20 ms.
struct Stream {
  int lost = 0;
  Nanoseconds stall_ns = -1;
  std::multimap<Nanoseconds, int> changes{};

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

// Requests that come at random, to `servers` at a time, of random length; beside them, ends without
// a begin, at random moments or right after each fifth begin.
struct Arrivals {
  int servers = 1;
  double load = 0.5;
  bool after_begins = false;
  double true_mean_ns = 0;
  std::multimap<Nanoseconds, int> changes;

  void make(Nanoseconds length_ns, unsigned seed) {
    std::mt19937 random(seed);
    constexpr double kService = 5e6;
    std::exponential_distribution<double> service(1 / kService);
    std::exponential_distribution<double> between(load * servers / kService);
    std::exponential_distribution<double> between_strays(load * servers / kService / 5);
    std::multiset<double> free_at;
    for (int i = 0; i < servers; ++i) free_at.insert(0);
    double now = 0, sum = 0, stray = 0;
    int number = 0;
    for (; now < static_cast<double>(length_ns); now += between(random)) {
      const double end = std::max(now, *free_at.begin()) + service(random);
      free_at.erase(free_at.begin());
      free_at.insert(end);
      add(now, 1);
      add(end, -1);
      if (after_begins && number % 5 == 0) add(now + 1e4, -1);
      for (; !after_begins && stray < now; stray += between_strays(random)) add(stray, -1);
      sum += end - now;
      ++number;
    }
    true_mean_ns = sum / number;
  }
  void add(double at, int by) { changes.emplace(static_cast<Nanoseconds>(at), by); }
};

TEST_CASE("ends without a begin make no latency longer", "[progress]") {
  for (unsigned seed = 0; seed < 24; ++seed) {
    Arrivals arrivals;
    arrivals.servers = seed % 3 == 0 ? 1 : 8;
    arrivals.load = seed % 2 == 0 ? 0.3 : 0.7;
    arrivals.after_begins = seed % 4 < 2;
    arrivals.make(60 * kSecond, seed);
    const InFlight in_flight = watched({.changes = arrivals.changes}, 0, kSecond);
    const auto mean = static_cast<double>(in_flight.mean_of_ended(59 * kSecond));
    INFO(seed << ": " << mean << " for " << arrivals.true_mean_ns);
    CHECK(in_flight.seen().ends > in_flight.seen().begins);
    CHECK(mean < 1.03 * arrivals.true_mean_ns);
    CHECK(mean > 0.1 * arrivals.true_mean_ns);
  }
}

TEST_CASE("an end that comes while nothing is in flight is of no begin", "[progress]") {
  Arrivals arrivals;
  for (Nanoseconds now = 0; now < 10 * kSecond; now += 10'000'000) {
    arrivals.changes.emplace(now, 1);
    arrivals.changes.emplace(now + 5'000'000, -1);
    if (now % 50'000'000 == 0) arrivals.changes.emplace(now + 7'000'000, -1);
  }
  const InFlight in_flight = watched({.changes = arrivals.changes}, 0, kSecond);
  CHECK(in_flight.mean(9 * kSecond) == 5'000'000);
  CHECK(in_flight.mean_of_ended(9 * kSecond) == 5'000'000);
}

TEST_CASE("a load that runs out has no ends without a begin", "[progress]") {
  InFlight in_flight;
  for (int i = 0; i < 20; ++i) in_flight.begin_at(i);
  in_flight.start();
  for (int i = 1; i <= 20; ++i) in_flight.end_at(100 * i);
  CHECK(in_flight.mean(2000) == 1050);
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
    told += unpaired_share(windows_of(0, 8, seed)).has_value();
    const auto one = unpaired_share(windows_of(0.01, 8, seed));
    REQUIRE(one);
    CHECK(one->share.low < 0.0115);
    CHECK(one->share.high > 0.0085);
  }
  CHECK(told == 0);
  const auto tenth = unpaired_share(windows_of(0.1, 8, 1));
  REQUIRE(tenth);
  CHECK_FALSE(tenth->ends);
  CHECK(tenth->share.value == Approx(0.1).margin(0.003));
  CHECK_FALSE(unpaired_share(windows_of(0.1, 3, 1)));
  const auto surplus = unpaired_share(windows_of(-0.25, 8, 1));
  REQUIRE(surplus);
  CHECK(surplus->ends);
  CHECK(surplus->share.value == Approx(0.2).margin(0.003));
  CHECK_THAT(text_of_unpaired("q", *surplus, "A", "B"), Catch::Contains("of its ends [") &&
                                                            Catch::Contains("have no begin") &&
                                                            Catch::Contains("B; name"));
  CHECK_FALSE(unpaired_share(std::vector<BeginsAndEnds>(8)));
}

}  // namespace
}  // namespace causalctl::progress
