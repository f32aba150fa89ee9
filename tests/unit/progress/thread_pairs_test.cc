// Latencies on one thread, judged by Little's law: rate × mean is the mean number in flight.
#include "controller/progress/thread_pairs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "controller/base/statistics.h"
#include "controller/progress/counters.h"

namespace causalctl::progress {
namespace {

using Kind = CountedPoint::Kind;

constexpr Nanoseconds kOneMs = 1'000'000;
constexpr Nanoseconds kWindowNs = 500 * kOneMs;
constexpr Nanoseconds kBetweenWindows = 130 * kOneMs;  // from the end of a window to the next
constexpr int kWindowCount = 60;

// From a time on, a thread has requests of these lengths one after the other, with a pause before
// each.
struct Requests {
  Tid thread = 1;
  Nanoseconds pause_ns = 0;
  std::vector<Nanoseconds> lengths_ns{};
  Nanoseconds from_ns = 0;
};

struct VisitAt {
  Nanoseconds at_ns = 0;
  std::uint32_t tag = 0;
  Tid thread = 0;
};

std::vector<VisitAt> visits_by_time(const std::vector<Requests>& streams, Nanoseconds until_ns) {
  std::vector<VisitAt> visits;
  for (const Requests& stream : streams) {
    std::size_t number = 0;
    for (Nanoseconds now_ns = stream.from_ns; now_ns < until_ns;) {
      now_ns += stream.pause_ns;
      visits.push_back({now_ns, 0, stream.thread});
      now_ns += stream.lengths_ns[number++ % stream.lengths_ns.size()];
      visits.push_back({now_ns, 1, stream.thread});
    }
  }
  std::stable_sort(visits.begin(), visits.end(),
                   [](const VisitAt& a, const VisitAt& b) { return a.at_ns < b.at_ns; });
  return visits;
}

// Returns what each window has, of those that begin `before_ns` after the first visit that is seen.
std::vector<LatencyCount> counted_windows(const std::vector<Requests>& streams,
                                          Nanoseconds before_ns) {
  constexpr Nanoseconds kArmed = 1'003 * kOneMs;
  Counters counters({{"q", Kind::begin}, {"q", Kind::end}});
  std::vector<LatencyCount> windows;
  Nanoseconds from_ns = kArmed, next_ns = kArmed + before_ns;
  bool is_over = true;
  const Nanoseconds until_ns = next_ns + kWindowCount * (kWindowNs + kBetweenWindows);
  for (const VisitAt& visit : visits_by_time(streams, until_ns)) {
    if (visit.at_ns < kArmed) continue;
    if (!is_over && visit.at_ns >= from_ns + kWindowNs) {
      windows.push_back(counters.latency(kWindowNs)[0]);
      is_over = true;
    }
    if (visit.at_ns >= next_ns) {
      counters.start(next_ns - from_ns);
      from_ns = std::exchange(next_ns, next_ns + kWindowNs + kBetweenWindows);
      is_over = false;
    }
    counters.visit(visit.tag, visit.thread, visit.at_ns - from_ns);
  }
  return windows;
}

// Checks the mean of the windows, and that rate × mean is the mean number in flight.
void check_by_law(const std::vector<LatencyCount>& windows, double mean_ms, double in_flight) {
  std::vector<double> means_ms, products;
  for (const LatencyCount& window : windows) {
    CHECK(window.p50_ns > 0);
    means_ms.push_back(static_cast<double>(window.mean_ns) / kOneMs);
    products.push_back(means_ms.back() * kOneMs * static_cast<double>(window.ends) / kWindowNs);
  }
  REQUIRE(windows.size() >= kWindowCount - 1);
  double sum = 0, sum_in_flight = 0;
  for (const double mean : means_ms) sum += mean;
  for (const double product : products) sum_in_flight += product;
  const auto count = static_cast<double>(windows.size());
  INFO("mean " << sum / count << " ms, in flight " << sum_in_flight / count);
  CHECK(sum / count == Approx(mean_ms).epsilon(0.03));
  CHECK(std::abs(sum_in_flight / count - in_flight) <
        statistics::half_interval_of_mean(products) + 0.01 * in_flight);
}

TEST_CASE("requests longer than a window are in the mean", "[progress]") {
  for (const double windows : {0.01, 0.5, 0.6, 1.0, 1.4, 3.0}) {
    const auto long_ns = static_cast<Nanoseconds>(windows * kWindowNs);
    INFO(windows << " windows long");
    const double ends_per_ms = 1 / (windows * kWindowNs / kOneMs) + 1 / 41.3;
    const double in_flight = 1 + 1 / 41.3;
    check_by_law(counted_windows({{1, 0, {long_ns}}, {2, 40'300'000, {kOneMs}}}, 3 * kWindowNs),
                 in_flight / ends_per_ms, in_flight);
  }
}

TEST_CASE("requests that are alike have their own length as their mean", "[progress]") {
  for (const double windows : {0.01, 0.17, 0.5, 1.0, 3.0}) {
    const auto length_ns = static_cast<Nanoseconds>(windows * kWindowNs);
    std::vector<Requests> streams;
    for (Tid thread = 0; thread < 24; ++thread) {
      streams.push_back({thread + 1, kOneMs, {length_ns}, thread * length_ns / 24});
    }
    for (const LatencyCount& window : counted_windows(streams, 4 * kWindowNs)) {
      if (window.ends == 0) continue;
      CHECK(window.mean_ns == length_ns);
      CHECK(window.p99_ns == length_ns);
    }
  }
}

TEST_CASE("the first windows have requests that began before counting", "[progress]") {
  // Each window has an end of the long ones.
  const auto windows = counted_windows({{1, 0, {450 * kOneMs}}, {2, 40'300'000, {kOneMs}}}, 0);
  for (const LatencyCount& window : {windows[0], windows[1]}) {
    const double in_flight = static_cast<double>(window.mean_ns) *
                             static_cast<double>(window.ends) / static_cast<double>(kWindowNs);
    CHECK(in_flight == Approx(1 + 1 / 41.3).epsilon(0.05));
  }
}

TEST_CASE("one long request in ten", "[progress]") {
  std::vector<Nanoseconds> lengths_ns(9, 5'100'000);
  lengths_ns.push_back(400 * kOneMs);
  double area_ns = 0, ends = 0;
  for (const LatencyCount& window : counted_windows({{1, 0, lengths_ns}}, kWindowNs)) {
    area_ns += static_cast<double>(window.mean_ns) * static_cast<double>(window.ends);
    ends += static_cast<double>(window.ends);
    CHECK(window.p99_ns == 400 * kOneMs);
  }
  CHECK(area_ns / ends / kOneMs == Approx(44.59).epsilon(0.03));
}

TEST_CASE("a request that was given up is not in flight for ever", "[progress]") {
  ThreadPairs pairs;
  pairs.begin(7, 0);
  for (int window = 0; window < 3; ++window) {
    for (int i = 0; i < 100; ++i) {
      pairs.begin(5, i * 1000 + 100);
      pairs.end(5, i * 1000 + 600);
    }
    CHECK(pairs.paired(100'000).mean_ns == 500);
    pairs.start(100'000);
  }
}

TEST_CASE("a first end on a thread that was born has no begin of before", "[progress]") {
  for (const bool born : {true, false}) {
    ThreadPairs pairs;
    if (born) pairs.thread_began(5);
    pairs.end(5, 400);
    pairs.begin(5, 500);
    pairs.end(5, 600);
    const PairedLatency paired = pairs.paired(1000);
    CHECK(paired.ends == (born ? 1U : 2U));
    CHECK(paired.mean_ns == (born ? 100 : 250));
  }
  ThreadPairs never_begins;
  never_begins.end(5, 400);
  CHECK(never_begins.paired(1000).ends == 0);
}

TEST_CASE("a request is as long as it was in both windows", "[progress]") {
  ThreadPairs pairs;
  pairs.begin(5, 900);
  pairs.start(1000);
  pairs.late_begin(6, 20);
  pairs.end(6, 30);
  pairs.begin(7, 40);
  pairs.start(1000);
  pairs.late_end(7);
  pairs.end(5, 200);
  CHECK(pairs.paired(1000).lengths_ns == std::vector<Nanoseconds>{1300});
}

}  // namespace
}  // namespace causalctl::progress
