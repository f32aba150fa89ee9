// Experiments of a program in which nothing is ever paused: each is compared with itself.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "controller/causal/analysis/estimate.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kLength = 500 * kMillisecond;
constexpr double kShareOfUnit = 0.3, kShareOfOther = 0.1;

struct OneThread {
  std::uint64_t seed = 1;
  int experiments = 80;
  double noise = 0.1;         // of the time of a visit, from experiment to experiment
  double share_varies = 0.1;  // likewise, of the unit's share, relative
  double visit_cost = 0;      // of a visit's time; the stamps leave it out
  double passes = 0;          // how the part of the unit's gain that reaches the visits varies
};

// A thread that always runs, sampled each millisecond. It makes visits of 50 µs in the mean.
Run run_of(const OneThread& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  Run run;
  run.id = "r";
  run.ended = true;
  run.reason = EndReason::duration;
  run.digest = DigestResult::same;
  run.overhead.period_ns = kMillisecond;
  run.samples = {{{"unit", true, "", "", 0}}, {{"other", true, "", "", 0}}};
  for (int i = 0; i < options.experiments; ++i) {
    const bool is_other = random() % 4 == 0;
    const double mean_share = is_other ? kShareOfOther : kShareOfUnit;
    const double share = mean_share * (1 + options.share_varies * normal(random));
    std::binomial_distribution<int> sampled(kLength / kMillisecond, std::clamp(share, 0.0, 1.0));
    Experiment e;
    e.unit = {is_other ? "other" : "unit", true, "", "", 0};
    e.speedup = i % 2 == 0 ? 0 : 0.05 * static_cast<double>(1 + random() % 20);
    e.start_ns = i * kLength;
    e.wall_ns = kLength;
    e.samples = static_cast<std::uint64_t>(sampled(random));
    const double part = is_other ? 1 : 1 + options.passes * normal(random);
    const double gained =
        part * e.speedup * static_cast<double>(e.samples) * kMillisecond / kLength;
    const double felt = 1 - options.visit_cost - gained;
    e.delay_ns = static_cast<Nanoseconds>((1 - felt) * kLength);
    e.effective_ns = e.wall_ns - e.delay_ns;
    const double visit_ns = 50e3 * std::exp(options.noise * normal(random));
    const auto visits = static_cast<std::uint64_t>(kLength / visit_ns);
    const auto real_ns = static_cast<Nanoseconds>(visit_ns * static_cast<double>(visits - 1));
    const auto virtual_ns = static_cast<Nanoseconds>(felt * static_cast<double>(real_ns));
    e.throughput.push_back({"work", visits, 1000, 1000 + virtual_ns, real_ns});
    run.experiments.push_back(e);
    run.wall_ns += kLength;
    // Samples are those of all experiments, whichever unit they are about.
    for (const bool of_other : {false, true}) {
      UnitSamples& samples = run.samples[of_other ? 1 : 0];
      const double usual = (of_other ? kShareOfOther : kShareOfUnit) * kLength / kMillisecond;
      const auto count = of_other == is_other ? e.samples : static_cast<std::uint64_t>(usual);
      samples.count += count;
      if (e.speedup == 0) samples.baseline_count += count;
    }
    run.losses.samples_total += kLength / kMillisecond;
  }
  return run;
}

report::ProgressResult result_of(const Run& run) { return estimate({run}).progress.at(0); }

const report::UnitResult& unit_of(const report::ProgressResult& result, const std::string& name) {
  return *std::find_if(result.units.begin(), result.units.end(),
                       [&](const auto& each) { return each.unit == name; });
}

double width(const Interval& interval) { return interval.high - interval.low; }

}  // namespace

TEST_CASE("what is never paused is compared with itself", "[estimate]") {
  Run run = run_of({});
  const report::ProgressResult within = result_of(run);
  REQUIRE(within.within);
  const report::UnitResult& unit = unit_of(within, "unit");
  CHECK(unit.verdict == report::Verdict::optimise);
  CHECK(unit.slope->low < kShareOfUnit);
  CHECK(unit.slope->high > kShareOfUnit);
  CHECK(width(*unit.slope) < 0.06);
  REQUIRE(within.null_effect);
  CHECK(std::abs(within.null_effect->high) < 1e-9);

  SECTION("a log that does not tell real times") {
    for (Experiment& each : run.experiments) each.throughput[0].real_ns = 0;
    const report::ProgressResult between = result_of(run);
    CHECK_FALSE(between.within);
    CHECK(width(*unit_of(between, "unit").slope) > 2 * width(*unit.slope));
    CHECK(width(*between.null_effect) > 0.02);
  }
  SECTION("one pause") {
    run.experiments[1].pauses = 1;
    CHECK_FALSE(result_of(run).within);
  }
  SECTION("a pause in an experiment that does not count") {
    run.experiments[1].pauses = 1;
    run.experiments[1].discarded = "lost records";
    CHECK(result_of(run).within);
  }
}

TEST_CASE("what counting costs is in no effect of an experiment by itself", "[estimate]") {
  OneThread dear;
  dear.visit_cost = 0.2;
  const report::ProgressResult result = result_of(run_of(dear));
  REQUIRE(result.within);
  // Of what is left without the visits' cost.
  const double truth = kShareOfUnit / (1 - dear.visit_cost);
  const report::UnitResult& unit = unit_of(result, "unit");
  CHECK(unit.slope->low < truth);
  CHECK(unit.slope->high > truth);
  CHECK(std::abs(result.null_effect->value) < 1e-6);
}

TEST_CASE("intervals of experiments by themselves cover the truth", "[estimate]") {
  const auto [experiments, varies] =
      GENERATE(std::pair{16, 0.1}, std::pair{40, 0.0}, std::pair{80, 0.1}, std::pair{80, 0.5},
               std::pair{400, 0.3});
  CAPTURE(experiments, varies);
  int covered = 0;
  int all = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const report::ProgressResult result = result_of(run_of({seed, experiments, 0.1, varies}));
    for (const auto& [name, truth] :
         {std::pair{"unit", kShareOfUnit}, std::pair{"other", kShareOfOther}}) {
      const report::UnitResult& unit = unit_of(result, name);
      if (!unit.slope) continue;
      ++all;
      covered += unit.slope->low <= truth && truth <= unit.slope->high;
    }
  }
  CAPTURE(covered, all);
  // Of 95 %, by three standard errors of the share of 200.
  CHECK(covered >= 0.90 * all);
  CHECK(covered < all);
}

TEST_CASE("a unit that is noisier than the others has wider intervals", "[estimate]") {
  const int experiments = GENERATE(40, 80);
  CAPTURE(experiments);
  int covered = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const report::ProgressResult result = result_of(run_of({seed, experiments, 0.1, 0.1, 0, 0.4}));
    const Interval slope = *unit_of(result, "unit").slope;
    covered += slope.low <= kShareOfUnit && kShareOfUnit <= slope.high;
  }
  CAPTURE(covered);
  CHECK(covered >= 180);
}

}  // namespace causalctl::causal
