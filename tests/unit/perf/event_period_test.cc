#include "controller/perf/event_period.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace causalctl::perf {
namespace {

TEST_CASE("the least prime number from a number on", "[perf]") {
  CHECK(prime_from(0) == 2);
  CHECK(prime_from(2) == 2);
  CHECK(prime_from(24) == 29);
  CHECK(prime_from(4'000'000) == 4'000'037);
}

constexpr unsigned kMost = 4;     // samples from one call of adapt() to the next
constexpr double kDrainMs = 8;    // from call to call
constexpr unsigned kBurst = 256;  // events
constexpr unsigned kFirst = 64;   // of which so many are on the first path, the others on another

// A thread of which one event after the other is counted, and samples taken as the kernel does.
class Thread {
 public:
  explicit Thread(unsigned seed) : random_(seed) {}

  void adapt(unsigned most = kMost) {
    in_ring_ = 0;
    const auto period = period_.adapt(most, random_());
    if (!period) return;
    ++changes;
    period_.was_set(count_, count_);
    set_ = *period;
    left_ = 1;
  }
  void burst() {
    for (unsigned i = 0; i < kBurst; ++i) {
      ++count_;
      if (--left_ > 0) continue;
      left_ = set_;
      if (in_ring_++ >= room) continue;  // it is lost
      const auto worth = period_.worth(count_);
      if (worth) (i < kFirst ? first : second) += static_cast<double>(*worth);
    }
  }
  std::uint64_t count() const { return count_; }

  double first = 0, second = 0;
  unsigned changes = 0;
  unsigned room = 1000;  // of the ring, in samples

 private:
  static constexpr std::uint64_t kBegin = 31;

  std::mt19937_64 random_;
  EventPeriod period_{kBegin, 1};
  std::uint64_t set_ = kBegin, left_ = kBegin, count_ = 0;
  unsigned in_ring_ = 0;
};

}  // namespace

// Periods are set while the thread waits between two bursts, so always at the same place of its
// loop.
TEST_CASE("events in bursts have their shares", "[perf]") {
  const double pause_ms = GENERATE(10.0, 1.0, 0.45);
  double sum = 0, squares = 0;
  constexpr int kRuns = 32;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    Thread thread(seed);
    std::mt19937_64 random(1000 + seed);
    std::uniform_real_distribution<double> pause(0.5 * pause_ms, 1.5 * pause_ms);
    double drain_ms = kDrainMs;
    for (double now_ms = 0; now_ms < 10'000; now_ms += pause(random)) {
      for (; drain_ms < now_ms; drain_ms += kDrainMs) thread.adapt();
      thread.burst();
    }
    const double total = thread.first + thread.second;
    CHECK(total > 0.98 * static_cast<double>(thread.count()));
    CHECK(total <= static_cast<double>(thread.count()));
    CHECK(thread.changes > 3);
    const double share = thread.second / total;
    sum += share;
    squares += share * share;
  }
  const double mean = sum / kRuns;
  CAPTURE(pause_ms, mean, std::sqrt(squares / kRuns - mean * mean));
  constexpr double kTruth = 1 - static_cast<double>(kFirst) / kBurst;
  CHECK(std::abs(mean - kTruth) < 0.005);
  CHECK(std::sqrt(squares / kRuns - mean * mean) < 0.01);
}

// One sample in forty would otherwise stand for half of all events.
TEST_CASE("events have their shares where a late reader loses samples", "[perf]") {
  constexpr int kRuns = 32;
  double squares = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    Thread thread(seed);
    thread.room = 31;
    std::mt19937_64 random(seed);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 40; ++i) {
        for (int j = 0; j < 4; ++j) thread.burst();
        thread.adapt();
      }
      for (unsigned i = 0; i < 400 + random() % 100; ++i) thread.burst();  // nobody reads
      thread.adapt(2 * kMost);
    }
    const double total = thread.first + thread.second;
    CHECK(total > 0.8 * static_cast<double>(thread.count()));
    CHECK(total <= static_cast<double>(thread.count()));
    const double off = thread.second / total - (1 - static_cast<double>(kFirst) / kBurst);
    squares += off * off;
  }
  CAPTURE(std::sqrt(squares / kRuns));
  CHECK(std::sqrt(squares / kRuns) < 0.04);
}

// Returns a random number by which a period is drawn anew, so many samples still count before, and
// so many are left out after it.
std::uint64_t random_for(std::uint64_t before, std::uint64_t after) {
  return before << 48U | after << 32U;
}

// Returns the period after a sample of an event, whose count is 31.
EventPeriod after_one_sample() {
  EventPeriod period(31, 1);
  CHECK(period.worth(31) == 31);
  return period;
}

TEST_CASE("samples are left out at both ends of a period", "[perf]") {
  const std::uint64_t before = GENERATE(range(0, 8)), after = GENERATE(range(0, 8));
  CAPTURE(before, after);
  EventPeriod period = after_one_sample();
  std::uint64_t count = 31;
  auto next = period.adapt(kMost, random_for(before, after));
  CHECK(next.has_value() == (before == 0));
  for (std::uint64_t i = 0; i < before; ++i) CHECK(period.worth(count += 31) == 31);
  if (before > 0) {
    CHECK_FALSE(period.worth(count += 31));
    next = period.adapt(kMost, random_for(before, after));
  }
  REQUIRE(next);
  period.was_set(count, count);
  CHECK_FALSE(period.worth(count += 1));  // out of its turn
  for (std::uint64_t i = 0; i < after; ++i) CHECK_FALSE(period.worth(count += *next));
  CHECK(period.worth(count += *next) > *next);  // it stands for those that were left out, too
}

TEST_CASE("a change does not wait for samples that do not come", "[perf]") {
  EventPeriod period = after_one_sample();
  for (int i = 0; i < 7; ++i) CHECK_FALSE(period.adapt(kMost, random_for(7, 0)));
  CHECK(period.adapt(kMost, random_for(7, 0)));
}

TEST_CASE("few events are all sampled, and many soon are not", "[perf]") {
  Thread thread(1);
  for (int i = 0; i < 100; ++i) thread.adapt();
  CHECK(thread.changes == 4);  // to 15, 7, 3 and 1
  EventPeriod period(1, 1);
  for (std::uint64_t count = 1; count <= 1000; ++count) CHECK(period.worth(count) == 1);
  const auto next = period.adapt(kMost, 0);
  REQUIRE(next);
  CHECK(*next > 150);
  period.was_set(1000, 1000);
  CHECK_FALSE(period.worth(1001));  // out of its turn
}

}  // namespace causalctl::perf
