#include "controller/callpath/analysis/scaled_counts.h"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>

#include "controller/callpath/analysis/present.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/render.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::callpath {
namespace {

using Catch::Contains;
using report::callpath::Count;

constexpr NodeId kInC = 3;        // main a(int) b(int) c
constexpr NodeId kInCByMain = 7;  // main c

// c was called `calls` times, of which samples stand for 30 on one path and for 10 on another one.
Recording counted(std::uint64_t calls) {
  Recording run = small_recording();
  run.events = {{"page-faults", "faults", "Page faults"}, {"count:c", "calls", "Calls of c"}};
  run.counts = {{"count:c", "c", calls, 2 * kSecond, 2 * kSecond, 35'000, 0.01, ""}};
  run.add({0, 0, metric_of_event(1)}, kInC, 30);
  run.add({0, 0, metric_of_event(1)}, kInCByMain, 10);
  return run;
}

Count count_of(std::span<const Recording> runs) {
  const std::vector<Count> counts = counts_of(runs);
  REQUIRE(counts.size() == 1);
  return counts[0];
}

std::uint64_t own_count(const report::callpath::Profile& profile, const std::string& column,
                        const std::string& function) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].name != column) continue;
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
      if (profile.frames[profile.nodes[node].frame].function == function) {
        sum += profile.own[i][node];
      }
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("samples of counted calls are scaled to the exact number", "[callpath][counts]") {
  for (const std::uint64_t calls : {0U, 1U, 3U, 39U, 40U, 41U, 1'000'003U}) {
    CAPTURE(calls);
    Recording run = counted(calls);
    run.groups.push_back({"worker"});
    run.epochs.push_back({5, "every 10s"});
    run.add({1, 1, metric_of_event(1)}, kInC, 7);
    const ScaledCounts scaled = scaled_counts(run);
    std::uint64_t sum = 0;
    for (const auto& [key, slice] : scaled.slices) {
      CHECK(key.metric == metric_of_event(1));
      for (const auto& [node, value] : slice) {
        sum += value;
        const double exact =
            static_cast<double>(run.slices.at(key).at(node)) * static_cast<double>(calls) / 47;
        CHECK(static_cast<double>(value) == Approx(exact).margin(1.01));
      }
    }
    CHECK(sum == calls);
    CHECK(scaled.unsampled.empty());
  }
}

TEST_CASE("counted calls of which none was sampled have no path", "[callpath][counts]") {
  Recording run = counted(5);
  for (auto& [key, slice] : run.slices) {
    if (key.metric == metric_of_event(1)) slice.clear();
  }
  const auto profile = present(std::array{run});
  CHECK(own_count(profile, "count:c", "[path not sampled]") == 5);
  CHECK(own_count(profile, "count:c", "c") == 0);
  // Nor is the epoch known.
  run.epochs.push_back({kSecond, "every 1s"});
  CHECK(own_count(present(std::array{run}, "1"), "count:c", "[path not sampled]") == 0);
}

TEST_CASE("calls that were counted all the time are exact", "[callpath][counts]") {
  const Count one = count_of(std::array{counted(123'456)});
  CHECK(one.exact);
  CHECK(one.calls == 123'456);
  CHECK(one.per_second == Approx(61'728));
  CHECK(one.most_per_second == one.per_second);
  const Count two = count_of(std::array{counted(100), counted(300)});
  CHECK(two.exact);
  CHECK(two.calls == 400);
  CHECK(two.per_second == Approx(100));
  const auto lines = report::callpath::count_lines(present(std::array{counted(123'456)}));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "calls of c: 123,456 (exact), 61,728 a second");
  Recording missing = counted(8);
  missing.counts[0].missing = "some are not in it";
  CHECK_FALSE(count_of(std::array{missing}).exact);
  CHECK_FALSE(count_of(std::array{counted(1), missing}).exact);
  CHECK(report::callpath::count_lines(present(std::array{missing}))[0] ==
        "calls of c: at least 8, 4.0 a second (some are not in it)");
}

TEST_CASE("calls that were counted in bursts are an estimate", "[callpath][counts]") {
  Recording run = counted(1000);
  run.counts[0].counted_ns = kSecond / 2;
  run.counts[0].cost_share = 0.2;
  run.counts[0].in_gaps = 3000;
  run.counts[0].least_in_gaps = 2800;
  run.counts[0].most_in_gaps = 4000;
  const Count count = count_of(std::array{run});
  CHECK_FALSE(count.exact);
  CHECK_FALSE(count.too_dear);
  CHECK(count.calls == 4000);
  CHECK(count.counted_share == Approx(0.25));
  CHECK(count.per_second == Approx(1900));
  CHECK(count.most_per_second == Approx(2500));
  const auto profile = present(std::array{run});
  CHECK(own_count(profile, "count:c", "c") == 4000);
  CHECK(
      report::callpath::count_lines(profile)[0] ==
      "calls of c: about 4,000, 1,900 to 2,500 a second. They were counted 25.0 % of the time, as "
      "each costs its thread 35 µs: together 20.0 % of a thread's time while they are counted");
}

TEST_CASE("a log without a range of the gaps has the rate of what was counted",
          "[callpath][counts]") {
  Recording run = counted(1000);
  run.counts[0].counted_ns = kSecond / 2;
  Count count = count_of(std::array{run});
  CHECK(count.calls == 4000);
  CHECK(count.per_second == Approx(2000));
  CHECK(count.most_per_second == Approx(2000));
  run.counts[0].in_gaps = run.counts[0].most_in_gaps = 1e300;  // somebody has changed the log
  count = count_of(std::array{run});
  CHECK(count.calls == 1ULL << 62U);
}

TEST_CASE("of calls that are too dear to count the least number is told", "[callpath][counts]") {
  Recording run = counted(1000);
  run.counts[0].counted_ns = kSecond / 2;
  run.counts[0].cost_share = 0.97;
  const Count count = count_of(std::array{run});
  CHECK(count.too_dear);
  CHECK(count.most_per_second == count.per_second);
  CHECK_THAT(report::callpath::count_lines(present(std::array{run}))[0],
             Contains("calls of c: at least 4,000, more than 2,000 a second.") &&
                 Contains("too much to tell how many"));
  // Of another run the number is an estimate, of which the least counts.
  Recording other = counted(1000);
  other.counts[0].counted_ns = kSecond;
  other.counts[0].in_gaps = 1000;
  other.counts[0].least_in_gaps = 800;
  other.counts[0].most_in_gaps = 1200;
  CHECK(count_of(std::array{run, other}).calls == 4000 + 1800);
  CHECK(count_of(std::array{run, other}).too_dear);
  // One that counted all, however dear, does not make the others so.
  Recording all = counted(1000);
  all.counts[0].cost_share = 0.97;
  CHECK_FALSE(count_of(std::array{all, other}).too_dear);
  // If it never was too much for the budget, all were counted.
  run.counts[0].counted_ns = run.counts[0].wall_ns;
  CHECK(count_of(std::array{run}).exact);
}

TEST_CASE("callgrind's calls of a counted function are the exact ones", "[callpath][counts]") {
  Recording run = counted(4000);
  run.add({0, 0, Metric::new_min}, kInC, 2);
  const auto profile = present(std::array{run});
  const std::string text = report::callpath::render_callgrind(profile);
  CHECK_THAT(text, Contains("calls=3000 ") && Contains("calls=1000 ") && Contains("count_c"));
  CHECK_THAT(text, !Contains("calls=2 "));
  CHECK_THAT(report::callpath::render_text(profile, report::callpath::By::overview, false, 100),
             Contains("\ncalls of c: 4,000 (exact), 2,000 a second\n") &&
                 Contains("\nCalls of c: 4,000 in all\n"));
  CHECK_THAT(report::callpath::render_json(profile), Contains("\"exact\": true"));
}

}  // namespace causalctl::callpath
