#include "controller/progress/counters.h"

#include <catch2/catch.hpp>
#include <map>

namespace causalctl::progress {
namespace {

using Kind = CountedPoint::Kind;

TEST_CASE("throughput: stamps of the first and of the last visit", "[progress]") {
  Counters counters({{"item", Kind::throughput}});
  counters.start(0);
  for (const Nanoseconds at : {300, 100, 500, 400}) counters.visit(0, 1, at);
  const auto counts = counters.throughput();
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].visits == 4);
  CHECK(counts[0].first_ns == 300);
  CHECK(counts[0].last_ns == 400);
  counters.start(0);
  CHECK(counters.throughput()[0].visits == 0);
  CHECK(counters.total_visits(0) == 4);
}

TEST_CASE("throughput: the real time between the first and the last visit", "[progress]") {
  Counters counters({{"item", Kind::throughput}});
  counters.start(0);
  counters.visit(0, 1, 100, 5);
  CHECK(counters.throughput()[0].real_ns == 0);
  counters.visit(0, 2, 300, 50);
  counters.visit(0, 1, 500, 85);
  CHECK(counters.throughput()[0].real_ns == 400 + 80);
  counters.start(0);
  counters.visit(0, 1, 10, 7);
  CHECK(counters.throughput()[0].real_ns == 0);
}

TEST_CASE("latency on one thread is measured", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start(0);
  for (int i = 0; i < 100; ++i) {
    counters.visit(0, 5, i * 1000);
    counters.visit(1, 5, i * 1000 + 10 * (i + 1));
  }
  const auto latency = counters.latency(100'000);
  REQUIRE(latency.size() == 1);
  CHECK(latency[0].begins == 100);
  CHECK(latency[0].ends == 100);
  CHECK(latency[0].mean_ns == 505);
  CHECK(latency[0].p50_ns == 510);
  CHECK(latency[0].p99_ns == 990);
}

TEST_CASE("latency across threads by Little's law", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start(0);
  // On thread 1 one begins every 100 ns, and on thread 2 it ends 250 ns later.
  for (Nanoseconds t = 0; t < 1'000'000; t += 50) {
    if (t % 100 == 0) counters.visit(0, 1, t);
    if (t >= 250 && (t - 250) % 100 == 0) counters.visit(1, 2, t);
  }
  const auto latency = counters.latency(1'000'000);
  CHECK(latency[0].p50_ns == 0);
  CHECK(latency[0].mean_ns == Approx(250).epsilon(0.01));
}

// Requests of one event loop: one begins every 20 ns, and they last 30 and 50 ns in turn.
void overlap(Counters& counters, Tid thread, int count) {
  std::multimap<Nanoseconds, std::uint32_t> events;
  for (int i = 0; i < count; ++i) {
    events.emplace(i * 20, 0);
    events.emplace(i * 20 + (i % 2 == 0 ? 30 : 50), 1);
  }
  for (const auto& [at_ns, tag] : events) counters.visit(tag, thread, at_ns);
}

TEST_CASE("requests that overlap on one thread cannot be paired there", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  for (int experiment = 0; experiment < 3; ++experiment) {
    counters.start(0);
    overlap(counters, 5, 1000);
    const auto latency = counters.latency(20'000);
    CHECK(latency[0].ends == 1000);
    CHECK(latency[0].p50_ns == 0);
    CHECK(latency[0].p99_ns == 0);
    CHECK(latency[0].mean_ns == Approx(40).epsilon(0.01));
  }
  // What was seen once holds for the whole run: there is one method for all of it.
  counters.start(0);
  counters.visit(0, 5, 0);
  counters.visit(1, 5, 70);
  CHECK(counters.latency(100)[0].p50_ns == 0);
  CHECK(counters.latency(100)[0].mean_ns == 70);
}

TEST_CASE("nested work cannot be paired, and ends with it", "[progress]") {
  Counters counters({{"call", Kind::begin}, {"call", Kind::end}});
  counters.start(0);
  counters.visit(0, 5, 0);
  counters.visit(0, 5, 100);
  counters.visit(1, 5, 200);
  counters.visit(1, 5, 300);
  counters.visit(0, 5, 400);
  counters.visit(1, 5, 500);
  for (int i = 10; i < 30; ++i) {
    counters.visit(0, 5, i * 100);
    counters.visit(1, 5, i * 100 + 50);
  }
  CHECK(counters.latency(3000)[0].p50_ns == 0);
  CHECK(counters.latency(3000)[0].mean_ns == (300 + 100 + 100 + 20 * 50) / 23);
}

TEST_CASE("ends without a begin spoil no pairs, unless there are too many", "[progress]") {
  for (const int each : {5, 1}) {
    Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
    counters.start(0);
    for (int i = 0; i < 100; ++i) {
      counters.visit(0, 5, i * 1000);
      counters.visit(1, 5, i * 1000 + 500);
      if (i % each == 0) counters.visit(1, 5, i * 1000 + 700);
    }
    const LatencyCount latency = counters.latency(100'000)[0];
    CHECK(latency.ends == 100U + 100U / static_cast<unsigned>(each));
    CHECK(latency.p50_ns == (each == 5 ? 500 : 0));
    if (each == 5) CHECK(latency.mean_ns == 500);
  }
}

TEST_CASE("a thread whose work overlaps does not spoil the pairs of others", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start(0);
  for (int i = 0; i < 100; ++i) {
    counters.visit(0, 5, i * 1000);
    counters.visit(1, 5, i * 1000 + 500);
  }
  counters.thread_ended(5);
  overlap(counters, 6, 3);
  const auto latency = counters.latency(100'000);
  CHECK(latency[0].ends == 103);
  CHECK(latency[0].mean_ns == 500);
  CHECK(latency[0].p50_ns == 500);
}

TEST_CASE("work that is given up spoils no pairs", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  for (int experiment = 0; experiment < 5; ++experiment) {
    counters.start(0);
    counters.visit(0, 5, 0);  // never ends
    for (int i = 0; i < 100; ++i) {
      counters.visit(0, 5, i * 100 + 10);
      counters.visit(1, 5, i * 100 + 60);
    }
    CHECK(counters.latency(10'000)[0].p50_ns == 50);
    CHECK(counters.latency(10'000)[0].mean_ns == 50);
  }
}

TEST_CASE("what is open from before an experiment counts as open", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start(0);
  counters.visit(0, 5, 0);
  counters.visit(0, 5, 10);
  for (int i = 0; i < 3; ++i) counters.start(10);
  counters.visit(1, 5, 20);
  counters.visit(0, 5, 30);
  counters.visit(1, 5, 40);
  counters.visit(1, 5, 50);
  CHECK(counters.latency(100)[0].in_progress_start == 2);
  CHECK(counters.latency(100)[0].p50_ns == 0);
}

TEST_CASE("an end that the kernel tells late is not missed", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start(0);
  counters.visit(0, 5, 0);
  counters.start(0);
  counters.late_visit(1, 5, 10);
  counters.visit(0, 5, 100);
  counters.visit(1, 5, 150);
  const auto latency = counters.latency(1000);
  CHECK(latency[0].in_progress_start == 0);
  CHECK(latency[0].begins == 1);
  CHECK(latency[0].ends == 1);
  CHECK(latency[0].p50_ns == 50);
}

TEST_CASE("work in progress before the attach does not make less than nothing", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start(0);
  counters.visit(1, 1, 10);
  counters.visit(0, 1, 20);
  const auto latency = counters.latency(100);
  CHECK(latency[0].in_progress_end == 1);
  // What ended at 10 had been in progress since the start.
  CHECK(latency[0].in_progress_start == 1);
  CHECK(latency[0].mean_ns == 90);
}

TEST_CASE("a point that is never hit does not stretch experiments", "[progress]") {
  Counters counters({{"hit", Kind::throughput}, {"never", Kind::throughput}});
  counters.start(0);
  CHECK(counters.fewest_visits() == 0);
  counters.visit(0, 1, 10);
  counters.visit(0, 1, 20);
  CHECK(counters.fewest_visits() == 2);
}

}  // namespace
}  // namespace causalctl::progress
