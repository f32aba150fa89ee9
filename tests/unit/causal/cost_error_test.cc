// Tests intervals if virtual time counts pauses by a cost that is not exactly known.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/model_error.h"
#include "controller/causal/analysis/pause_cost.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

// 20 pauses of 10 ms and a cost of 90 us each in 0.5 s of virtual time: an error of 60 us is 0.24
// %.
Run with_pauses(Run run, Nanoseconds error_ns, Nanoseconds cost_ns = 90 * kMicrosecond,
                Nanoseconds measured_with_ns = 10 * kMillisecond) {
  run.overhead.pause_cost = {cost_ns, error_ns, measured_with_ns};
  for (Experiment& e : run.experiments) {
    if (e.speedup == 0) continue;
    e.pauses = 20;
    e.paid_ns = e.asked_ns = 200 * kMillisecond;
    e.delay_ns = e.paid_ns + 20 * cost_ns;
    e.cost_error_ns = error_of_pauses(e, run.overhead);
  }
  return run;
}

SyntheticUnit without_effect() {
  return {"a", [](double) { return 0.0; }};
}

SyntheticUnit a_fifth() {
  return {"a", [](double speedup) { return 0.2 * speedup; }};
}

double half_width(const Interval& interval) { return (interval.high - interval.low) / 2; }

bool warns_of_pauses(const report::Report& report) {
  return std::any_of(report.warnings.begin(), report.warnings.end(), [](const auto& each) {
    return each.text().find("what a pause costs") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a thread makes no more pauses than were made", "[causal]") {
  Experiment e;
  e.delay_ns = 400 * kMillisecond;
  e.paid_ns = 100 * kMillisecond;
  Overhead cost;
  cost.pause_cost.error_ns = 50 * kMicrosecond;
  CHECK(error_of_pauses(e, cost) == 0);
  e.pauses = 100;  // of 1 ms each; credit has cancelled 300 of the 400 that were asked for
  CHECK(error_of_pauses(e, cost) == 100 * 50 * kMicrosecond);
  e.delay_ns = 10 * kMillisecond;
  CHECK(error_of_pauses(e, cost) == 10 * 50 * kMicrosecond);
}

TEST_CASE("pauses of another length may cost more or less than those measured", "[causal]") {
  Experiment e;
  e.pauses = 100;  // of 4 ms each, by both of two threads
  e.paid_ns = 400 * kMillisecond;
  e.delay_ns = 205 * kMillisecond;
  Overhead cost;
  cost.pause_cost.cost_ns = 100 * kMicrosecond;
  const auto of_one = [&](Nanoseconds measured_with_ns) {
    cost.pause_cost.length_ns = measured_with_ns;
    return error_of_pauses(e, cost) / 50;
  };
  CHECK(of_one(4 * kMillisecond) == 0);
  CHECK(of_one(2 * kMillisecond) == 25 * kMicrosecond);  // half as long, so half of the open part
  CHECK(of_one(8 * kMillisecond) == 25 * kMicrosecond);
  CHECK(of_one(kMillisecond / 1000) == Approx(50 * kMicrosecond).epsilon(0.001));
  CHECK(of_one(0) == 50 * kMicrosecond);  // for an unknown length
  cost.pause_cost.error_ns = 25 * kMicrosecond;
  CHECK(of_one(2 * kMillisecond) == Approx(std::sqrt(2) * 25 * kMicrosecond));
}

TEST_CASE("what is not known of the cost of pauses is in every interval", "[causal]") {
  const Run plain = synthetic_run({.units = {without_effect()}, .noise = 1e-5});
  const auto exact = estimate({with_pauses(plain, 0)});
  const auto report = estimate({with_pauses(plain, 60 * kMicrosecond)});
  const auto& pool = report.progress.at(0).units.at(0).summary.at(2);
  CHECK(half_width(exact.progress.at(0).units.at(0).summary.at(2).effect) < 1e-4);
  CHECK(half_width(pool.effect) == Approx(2 * 0.0024).epsilon(0.1));
  CHECK(report.overhead.pause_cost.error_ns == 60 * kMicrosecond);

  Run other = synthetic_run({.units = {without_effect()}, .noise = 1e-5, .seed = 2});
  const auto both =
      estimate({with_pauses(plain, 60 * kMicrosecond), with_pauses(other, 60 * kMicrosecond)});
  // The first guess, and the dependence on a pause's length, are wrong in the same way in every
  // run.
  CHECK(half_width(both.progress.at(0).units.at(0).summary.at(2).effect) ==
        Approx(half_width(pool.effect)).epsilon(0.05));
}

TEST_CASE("it is told when the cost of pauses is what makes intervals wide", "[causal]") {
  const Run plain = synthetic_run({.units = {without_effect()}});
  CHECK_FALSE(warns_of_pauses(estimate({with_pauses(plain, 600 * kMicrosecond)})));  // 2.4 %
  const auto report = estimate({with_pauses(plain, 700 * kMicrosecond)});            // 2.8 %
  REQUIRE(warns_of_pauses(report));
  CHECK(report.warnings.back().text().find("±700 µs only") != std::string::npos);
  CHECK(report.warnings.back().text().find("±5 points (here: ") != std::string::npos);
  // Of an unknown length: half of the cost is open.
  const auto lengthless = estimate({with_pauses(plain, 600 * kMicrosecond, 2 * kMillisecond, 0)});
  REQUIRE(warns_of_pauses(lengthless));
  CHECK(lengthless.warnings.back().text().find("±1166 µs only") != std::string::npos);
  CHECK(report.warnings.back().text().find(report.progress.at(0).units.at(0).unit + ", ") !=
        std::string::npos);
}

// A common error, with the standard error `error` in the logarithm, makes 300 runs longer or
// shorter at a speedup. Returns how many intervals cover the truth.
int covered_of_300(const std::function<Run(Run)>& with_error,
                   const std::function<double(double)>& error) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Run run = with_error(synthetic_run({.units = {a_fifth()}, .noise = 0.02, .seed = seed}));
    const double drawn = normal(random);
    for (Experiment& e : run.experiments) {
      if (e.speedup == 0) continue;
      const double factor = std::exp(drawn * error(e.speedup));
      ThroughputCount& count = e.throughput.front();
      count.last_ns =
          count.first_ns +
          static_cast<Nanoseconds>(factor * static_cast<double>(count.last_ns - count.first_ns));
    }
    const auto report = estimate({run});
    const auto& pool = report.progress.at(0).units.at(0).summary.at(2);
    const double truth = 0.2 * report.progress.at(0).units.at(0).phase_factor;
    covered += pool.effect.low <= truth && truth <= pool.effect.high ? 1 : 0;
  }
  return covered;
}

// All runs count pauses by a cost with one common error, as large as its standard error.
TEST_CASE("95 % intervals cover the truth though the cost of pauses errs", "[causal]") {
  constexpr Nanoseconds kError = 500 * kMicrosecond;
  const int covered =
      covered_of_300([](Run run) { return with_pauses(std::move(run), kError); },
                     [](double) { return 20 * static_cast<double>(kError) / 500e6; });
  CHECK(covered >= 270);
  CHECK(covered <= 294);
}

Run with_model_error(Run run) {
  for (Experiment& e : run.experiments) e.model_error_ns = model_error_of(e);
  return run;
}

TEST_CASE("95 % intervals cover the truth though the model errs", "[causal]") {
  const int covered =
      covered_of_300(with_model_error, [](double speedup) { return 0.0065 * std::sqrt(speedup); });
  CHECK(covered >= 270);
  CHECK(covered <= 294);
}

TEST_CASE("what the model leaves open is in every interval", "[causal]") {
  Experiment e;
  e.wall_ns = 600 * kMillisecond;
  e.effective_ns = 500 * kMillisecond;
  CHECK(model_error_of(e) == 0);
  e.speedup = 0.25;
  CHECK(model_error_of(e) == Approx(0.5 * 0.0065 * 500e6));
  e.speedup = 1;
  CHECK(model_error_of(e) == Approx(0.0065 * 500e6));
  e.runnable_wait_ns = 160 * kMillisecond;  // waits for cores
  CHECK(model_error_of(e) == Approx(0.017 * 500e6));
  e.cores = {100 * kMillisecond, 50 * kMillisecond, 100 * kMillisecond, 0, 0};
  CHECK(model_error_of(e) == Approx(std::hypot(0.017, 0.025) * 500e6));

  // Under a quota half of what it grants goes to the unit, in a thread that rests at times.
  e = {};
  e.speedup = 0.5;
  e.wall_ns = e.effective_ns = e.cores.quota_ns = e.cores.quota_granted_ns = 500 * kMillisecond;
  e.cores.resting_unit_ns = 250 * kMillisecond;
  CHECK(1.96 * model_error_of(e) / 500e6 == Approx(0.25).margin(0.001));

  const Run plain = synthetic_run({.units = {without_effect()}, .noise = 1e-5});
  const auto report = estimate({with_model_error(plain), with_model_error(plain)});
  const auto& unit = report.progress.at(0).units.at(0);
  CHECK(half_width(unit.summary.at(0).effect) == Approx(1.96 * 0.0028).epsilon(0.2));
  CHECK(half_width(unit.summary.at(2).effect) == Approx(1.96 * 0.0060).epsilon(0.2));
}

TEST_CASE("beside strangers more is left open, by how often threads meet", "[causal]") {
  const auto error = [](double share, Meeting meeting, bool many_cores = false) {
    return error_beside({share, 1.5, share > 0.05, many_cores, meeting});
  };
  const double apart = error(1.0 / 3, Meeting::apart);
  CHECK(apart == Approx(0.025));
  CHECK(error(0.9, Meeting::apart) == apart);
  CHECK(error(1.0 / 6, Meeting::apart) == Approx(0.0125));
  const double seldom = error(1.0 / 3, Meeting::seldom);
  const double often = error(1.0 / 3, Meeting::often);
  CHECK(seldom > 2 * apart);
  CHECK(often > seldom);
  CHECK(error(1.0 / 3, Meeting::seldom, true) == often);
  CHECK(error(1.0 / 3, Meeting::apart, true) == apart);
  CHECK(error(0.04, Meeting::often) == 0);
}

}  // namespace causalctl::causal
