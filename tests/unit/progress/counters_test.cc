#include "controller/progress/counters.h"

#include <catch2/catch.hpp>

namespace causalctl::progress {
namespace {

using Kind = CountedPoint::Kind;

TEST_CASE("throughput: stamps of the first and of the last visit", "[progress]") {
  Counters counters({{"item", Kind::throughput}});
  counters.start();
  for (const Nanoseconds at : {300, 100, 500, 400}) counters.visit(0, 1, at);
  const auto counts = counters.throughput();
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].visits == 4);
  CHECK(counts[0].first_ns == 300);
  CHECK(counts[0].last_ns == 400);
  counters.start();
  CHECK(counters.throughput()[0].visits == 0);
  CHECK(counters.total_visits(0) == 4);
}

TEST_CASE("latency on one thread is measured", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start();
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
  counters.start();
  // One begins each 100 ns on thread 1 and ends 250 ns later on thread 2.
  for (Nanoseconds t = 0; t < 1'000'000; t += 50) {
    if (t % 100 == 0) counters.visit(0, 1, t);
    if (t >= 250 && (t - 250) % 100 == 0) counters.visit(1, 2, t);
  }
  const auto latency = counters.latency(1'000'000);
  CHECK(latency[0].p50_ns == 0);
  CHECK(latency[0].mean_ns == Approx(250).epsilon(0.01));
}

TEST_CASE("work in progress before the attach does not make less than nothing", "[progress]") {
  Counters counters({{"request", Kind::begin}, {"request", Kind::end}});
  counters.start();
  counters.visit(1, 1, 10);
  counters.visit(0, 1, 20);
  const auto latency = counters.latency(100);
  CHECK(latency[0].in_progress_end == 1);
  CHECK(latency[0].mean_ns == 80);
}

TEST_CASE("a point that is never hit does not stretch experiments", "[progress]") {
  Counters counters({{"hit", Kind::throughput}, {"never", Kind::throughput}});
  counters.start();
  CHECK(counters.fewest_visits() == 0);
  counters.visit(0, 1, 10);
  counters.visit(0, 1, 20);
  CHECK(counters.fewest_visits() == 2);
}

}  // namespace
}  // namespace causalctl::progress
