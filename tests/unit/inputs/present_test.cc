#include "controller/inputs/analysis/present.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/inputs/analysis/forecast.h"
#include "controller/inputs/analysis/merged.h"
#include "tests/unit/inputs/logs.h"

namespace causalctl::inputs {
namespace {

namespace model = report::inputs;
using Catch::Contains;
using model::Of;
using model::Verdict;
using test::add_call;
using test::add_plain;
using test::add_routine;

model::Profile profile_of(const std::vector<Recording>& runs, const Choice& choice = {}) {
  return present(runs, choice);
}

const model::Routine& routine(const model::Profile& profile, const std::string& name) {
  const auto found = std::find_if(profile.routines.begin(), profile.routines.end(),
                                  [&](const model::Routine& each) { return each.name == name; });
  REQUIRE(found != profile.routines.end());
  return *found;
}

std::vector<std::string> order_of(const model::Profile& profile) {
  std::vector<std::string> names;
  for (const model::Routine& each : profile.routines) names.push_back(each.name);
  return names;
}

}  // namespace

TEST_CASE("Input report: verdicts and shares", "[inputs]") {
  const Recording recording = test::quadratic_program();
  const model::Profile profile = profile_of({recording});
  CHECK(profile.total == recording.total);
  CHECK(profile.routines.front().name == "sort_rows");
  const auto verdict = [&](const std::string& name) {
    return profile.growth(routine(profile, name), Of::mean).verdict;
  };
  CHECK(verdict("sort_rows") == Verdict::superlinear);
  CHECK(verdict("sum") == Verdict::linear);
  CHECK(verdict("get") == Verdict::constant);
  CHECK(verdict("main") == Verdict::too_few);
  CHECK(routine(profile, "main").share[0] == 1);
  CHECK(routine(profile, "main").own_share[0] ==
        Approx(100 / static_cast<double>(recording.total[0])));
  CHECK(profile.growth(routine(profile, "sort_rows"), Of::mean).line.size() > 10);
  // The other cost was not asked for.
  CHECK(routine(profile, "sum").of(Metric::trms, CostUnit::instructions, Of::mean).verdict ==
        Verdict::too_few);
  const model::Profile both = profile_of({recording}, {Metric::trms, CostUnit::blocks, true});
  CHECK(routine(both, "sum").of(Metric::rms, CostUnit::instructions, Of::mean).verdict ==
        Verdict::linear);
}

TEST_CASE("Input report: several runs give sizes together", "[inputs]") {
  std::vector<Recording> runs;
  for (std::uint64_t size = 10; size <= 1280; size *= 2) {
    Recording& run = runs.emplace_back(test::empty_recording("run" + std::to_string(size)));
    add_routine(run, "other");
    add_plain(run, add_routine(run, "main"), size, size * size);
    test::end(run, size * size);
  }
  CHECK(profile_of({runs.front()})
            .growth(profile_of({runs.front()}).routines.front(), Of::mean)
            .verdict == Verdict::too_few);
  const model::Profile profile = profile_of(runs);
  CHECK(profile.runs == runs.size());
  REQUIRE(profile.routines.size() == 1);
  CHECK(profile.growth(profile.routines.front(), Of::mean).verdict == Verdict::superlinear);
  CHECK(profile.routines.front().share[0] == Approx(1));
  CHECK(profile.routines.front().threads.size() == runs.size());

  // Another build is another program.
  runs.back().modules.front().build_id = "9b";
  CHECK(profile_of(runs).routines.size() == 2);
  runs.back().cell_bytes = 8;
  CHECK_THROWS_WITH(profile_of(runs), Contains("cells of different sizes"));
}

TEST_CASE("Input report: threads are added up, and told", "[inputs]") {
  Recording recording = test::empty_recording();
  const std::size_t f = add_routine(recording, "f");
  add_call(recording, f, 0, {10, 5, 100, 100, true, 2, 3});
  add_call(recording, f, 1, {10, 4, 300, 300, true, 0, 5});
  add_call(recording, f, 1, {30, 9, 50, 50, false, 20, 0});
  test::end(recording, 800);
  const model::Routine one = profile_of({recording}).routines.front();
  CHECK(one.calls == 3);
  REQUIRE(one.rows[0].size() == 2);
  CHECK(one.rows[0][0].calls == 2);
  CHECK(one.rows[0][0].cost[0].max == 300);
  CHECK(one.share[0] == Approx(0.5));  // without the call that was within another one
  CHECK(one.external_share == Approx(22.0 / 50));
  CHECK(one.thread_share == Approx(8.0 / 50));
  CHECK(one.richness == Approx((2.0 - 3) / 3));
  CHECK(one.volume == Approx(1 - 18.0 / 50));
  REQUIRE(one.threads.size() == 2);
  CHECK(one.threads[1].name == "worker");
  CHECK(one.threads[1].calls == 2);
  CHECK(one.threads[1].share[0] == Approx(0.75));
}

// Of the paper's Figure 4: rms misses input, and so a linear routine looks quadratic.
TEST_CASE("Input report: the metrics disagree", "[inputs]") {
  Recording recording = test::empty_recording();
  const std::size_t select = add_routine(recording, "select");
  for (std::uint64_t rms = 10; rms < 300; rms += 10) {
    const std::uint64_t trms = rms * rms;
    add_call(recording, select, 0, {trms, rms, 7 * trms, 7 * trms, true, trms - rms, 0});
  }
  const model::Profile profile = profile_of({recording});
  const model::Routine& one = profile.routines.front();
  CHECK(one.of(Metric::trms, CostUnit::blocks, Of::mean).verdict == Verdict::linear);
  CHECK(one.of(Metric::rms, CostUnit::blocks, Of::mean).verdict == Verdict::superlinear);
  CHECK_THAT(one.disagreement, Contains("by rms it grows with n², by trms with n"));
  CHECK_FALSE(model::is_superlinear(profile, one));
  const model::Profile by_rms = profile_of({recording}, {Metric::rms, CostUnit::blocks, false});
  CHECK(model::is_superlinear(by_rms, by_rms.routines.front()));
}

TEST_CASE("Input report: the cause stands above its caller", "[inputs]") {
  Recording recording = test::empty_recording();
  const std::size_t caller = add_routine(recording, "caller");
  const std::size_t callee = add_routine(recording, "callee");
  const std::size_t small = add_routine(recording, "small");
  const std::size_t linear = add_routine(recording, "linear");
  std::uint64_t total = 0;
  for (std::uint64_t size = 10; size <= 1000; size += size / 5) {
    const std::uint64_t square = size * size;
    add_call(recording, caller, 0, {size, size, square + 50 * size, 50 * size, true, 0, 0});
    add_plain(recording, callee, size, square);
    add_plain(recording, small, size, square / 10);
    add_plain(recording, linear, size, 10 * size);
    total += square + square / 10 + 60 * size;
  }
  test::end(recording, total);
  const model::Profile profile = profile_of({recording});
  CHECK(order_of(profile) == std::vector<std::string>{"callee", "small", "caller", "linear"});
}

TEST_CASE("Input report: forecast", "[inputs]") {
  const auto times = [](const auto& cost_of) {
    Recording recording = test::empty_recording();
    const std::size_t f = add_routine(recording, "f");
    std::uint64_t total = 0;
    for (std::uint64_t size = 10; size <= 1000; size += size / 5) {
      add_plain(recording, f, size, cost_of(size));
      total += cost_of(size);
    }
    test::end(recording, 2 * total);
    return profile_of({recording}).forecast;
  };
  // Half of the run is f, and the rest stays.
  const model::Forecast quadratic = times([](std::uint64_t n) { return 100 * n * n; });
  CHECK(quadratic.is_known);
  CHECK(quadratic.times.value == Approx(0.5 * 100 + 0.5).epsilon(0.01));
  CHECK(quadratic.times.low <= quadratic.times.value);
  CHECK(quadratic.times.high >= quadratic.times.value);
  CHECK(quadratic.share == Approx(0.5));
  CHECK(times([](std::uint64_t n) { return 100 * n; }).times.value ==
        Approx(0.5 * 10 + 0.5).epsilon(0.01));
  CHECK(times([](std::uint64_t) { return std::uint64_t{100}; }).times.value == Approx(1));
}

TEST_CASE("Input report: forecasts by own costs and by one routine", "[inputs]") {
  const Interval hundred = {100, 90, 110};
  const Interval ten = {10, 9, 11};
  // Two routines beside each other.
  const model::Forecast both = forecast({{"f", 0.4, 0.4, true, true, hundred, hundred},
                                         {"g", 0.4, 0.4, true, true, hundred, hundred}});
  CHECK(both.times.value == Approx(80.2));
  CHECK(both.routine.empty());
  // One that calls the other, which is called more often.
  const model::Forecast one =
      forecast({{"f", 1, 0.1, true, true, hundred, ten}, {"g", 0.9, 0.9, false, false, {}, {}}});
  CHECK(one.times.value == Approx(100));
  CHECK(one.times.low == Approx(90));
  CHECK(one.routine == "f");
  CHECK_FALSE(forecast({{"f", 1, 1, false, false, {}, {}}}).is_known);
}

TEST_CASE("Input report: a run without its end, and lost events", "[inputs]") {
  Recording recording = test::quadratic_program();
  const std::uint64_t total = recording.total[0];
  recording.end.reset();
  recording.total = {};
  recording.events_lost = 7;
  const model::Profile profile = profile_of({recording});
  CHECK(profile.incomplete == 1);
  CHECK(profile.total[0] == total);  // main's
  REQUIRE(profile.notes.size() == 2);
  CHECK_THAT(profile.notes[0], Contains("1 of 1 runs did not write their end"));
  CHECK_THAT(profile.notes[1], Contains("7 reads and writes"));
}

TEST_CASE("Input report: routines without a name, and an empty run", "[inputs]") {
  Recording recording = test::empty_recording();
  CHECK(profile_of({recording}).routines.empty());
  add_plain(recording, add_routine(recording, ""), 1, 1);
  CHECK(profile_of({recording}).routines.front().name == "[program+0x0]");
}

}  // namespace causalctl::inputs
