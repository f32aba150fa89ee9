#include "controller/causal/analysis/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/estimate_compare.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {

using report::Verdict;

namespace {

const report::UnitResult& unit_of(const report::Report& report, const std::string& name) {
  for (const report::UnitResult& unit : report.progress.at(0).units) {
    if (unit.unit == name) return unit;
  }
  throw std::runtime_error("no unit " + name);
}

bool warned(const report::Report& report, const std::string& words) {
  return std::any_of(report.warnings.begin(), report.warnings.end(), [&](const auto& warning) {
    return warning.text().find(words) != std::string::npos;
  });
}

SyntheticUnit linear(std::string name, double slope) {
  return {std::move(name), [slope](double speedup) { return slope * speedup; }};
}

}  // namespace

TEST_CASE("without noise effects are exact", "[causal]") {
  const auto report =
      estimate({synthetic_run({.units = {linear("a", 0.2), linear("b", 0)}, .noise = 0})});
  const auto& a = unit_of(report, "a");
  REQUIRE(a.slope);
  CHECK(a.phase_factor == Approx(1).margin(0.02));
  CHECK(a.slope->value / a.phase_factor == Approx(0.2).margin(1e-6));
  REQUIRE(a.curve.size() == 3);
  CHECK(a.curve[1].speedup == 0.5);
  CHECK(a.curve[1].effect.value / a.phase_factor == Approx(0.1).margin(1e-6));
  CHECK(a.verdict == Verdict::optimise);
  REQUIRE(a.summary.size() == 3);
  CHECK(a.summary[2].speedup == 1);
  CHECK(unit_of(report, "b").slope->value == Approx(0).margin(1e-6));
  CHECK(unit_of(report, "b").verdict == Verdict::no_effect);
  CHECK(report.selfcheck.null_effect->value == Approx(0).margin(1e-6));
}

// The interval covers the truth as often as promised, with the whole estimator and shared
// baselines.
TEST_CASE("95 % intervals cover the truth in 90 to 98 %", "[causal]") {
  const int units = GENERATE(1, 2);
  constexpr int kRepetitions = 300;
  int slope_covered = 0, null_covered = 0, curve_covered = 0, curves = 0;
  double bias = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Synthetic options;
    for (int k = 0; k < units; ++k) {
      options.units.push_back(linear(std::string(1, static_cast<char>('a' + k)), 0.2));
    }
    options.experiments = 60 * units;
    options.noise = 0.05;
    options.seed = static_cast<std::uint64_t>(1000 * units + i);
    const auto report = estimate({synthetic_run(options)});
    const auto& unit = unit_of(report, "a");
    const double truth = 0.2 * unit.phase_factor;
    REQUIRE(unit.slope);
    bias += unit.slope->value / unit.phase_factor - 0.2;
    slope_covered += unit.slope->low <= truth && truth <= unit.slope->high ? 1 : 0;
    const auto& null = *report.selfcheck.null_effect;
    null_covered += null.low <= 0 && 0 <= null.high ? 1 : 0;
    for (const auto& at : unit.curve) {
      const double effect = truth * at.speedup;
      ++curves;
      curve_covered += at.effect.low <= effect && effect <= at.effect.high ? 1 : 0;
    }
  }
  INFO("slope " << slope_covered << " null " << null_covered << " curve " << curve_covered << "/"
                << curves << " bias " << bias / kRepetitions);
  CHECK(std::abs(bias / kRepetitions) < 0.004);
  CHECK(slope_covered >= 0.90 * kRepetitions);
  CHECK(slope_covered <= 0.98 * kRepetitions);
  CHECK(null_covered >= 0.90 * kRepetitions);
  CHECK(null_covered <= 0.98 * kRepetitions);
  CHECK(curve_covered >= 0.90 * curves);
  CHECK(curve_covered <= 0.98 * curves);
}

TEST_CASE("the drift of the machine cancels", "[causal]") {
  // It is 40 % slower by the end, with a slow wave on top: both are far larger than the effects.
  const auto drift = [](double at) { return 1 + 0.4 * at + 0.1 * std::sin(12 * at); };
  const auto report =
      estimate({synthetic_run({.units = {linear("a", 0.1), linear("b", 0), linear("c", 0)},
                               .experiments = 400,
                               .noise = 0.01,
                               .drift = drift})});
  const auto& a = unit_of(report, "a");
  CHECK(a.slope->value / a.phase_factor == Approx(0.1).margin(0.01));
  CHECK(a.slope->low > 0);
  CHECK(std::abs(unit_of(report, "b").slope->value) < 0.01);
}

TEST_CASE("stalls of the machine do not move the estimate", "[causal]") {
  Run run = synthetic_run(
      {.units = {linear("a", 0.1), linear("b", 0)}, .experiments = 200, .noise = 0.01});
  for (std::size_t i = 5; i < run.experiments.size(); i += 17) {
    run.experiments[i].throughput[0].last_ns *= 3;
  }
  const auto report = estimate({run});
  CHECK(unit_of(report, "a").slope->value == Approx(0.1).margin(0.02));
  CHECK(unit_of(report, "b").slope->value == Approx(0).margin(0.02));
}

TEST_CASE("phases: eq. 8 scales effects down to the share of the run", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.2), linear("b", 0)}, .noise = 0});
  // In the baselines of the other unit, which took three times as long, it was never sampled.
  std::uint64_t own = 0;
  Nanoseconds own_ns = 0;
  Nanoseconds others_ns = 0;
  for (Experiment& e : run.experiments) {
    if (e.speedup > 0) continue;
    if (e.unit.name == "a") {
      own += e.samples;
      own_ns += e.effective_ns;
    } else {
      others_ns += e.effective_ns;
    }
  }
  const double stretch = 3 * static_cast<double>(own_ns) / static_cast<double>(others_ns);
  for (Experiment& e : run.experiments) {
    if (e.unit.name == "b") {
      e.effective_ns = static_cast<Nanoseconds>(stretch * static_cast<double>(e.effective_ns));
    }
  }
  run.samples[0].baseline_count = own;
  const auto report = estimate({run});
  const auto& a = unit_of(report, "a");
  CHECK(a.phase_factor == Approx(0.25).margin(1e-6));
  CHECK(a.slope->value == Approx(0.05).margin(1e-6));
  CHECK(a.curve[2].effect.value == Approx(0.05).margin(1e-6));

  SECTION("noise above one is cut") {
    run.samples[0].baseline_count *= 30;
    CHECK(unit_of(estimate({run}), "a").phase_factor == 1);
  }
  SECTION("unobserved or cut off: not corrected") {
    run.ended = false;
    CHECK(unit_of(estimate({run}), "a").phase_factor == 1);
  }
}

TEST_CASE("ranking: certain gains first, then contention, no effect, unknown", "[causal]") {
  Synthetic options{.units = {linear("none", 0), linear("small", 0.1), linear("worse", -0.2),
                              linear("large", 0.3)},
                    .experiments = 400,
                    .noise = 0.01};
  Run run = synthetic_run(options);
  run.samples.push_back({{"unmeasured", true, "", "", 0}, 40'000});
  run.samples.push_back({{"negligible", true, "", "", 0}, 3});
  const auto report = estimate({run});
  std::vector<std::string> names;
  for (const auto& unit : report.progress[0].units) names.push_back(unit.unit);
  CHECK(names == std::vector<std::string>{"large", "small", "worse", "none", "unmeasured"});
  CHECK(unit_of(report, "worse").verdict == Verdict::contention);
  CHECK(unit_of(report, "unmeasured").verdict == Verdict::not_enough_data);
  CHECK(unit_of(report, "large").samples == 40'000);
  CHECK(unit_of(report, "large").sample_share == Approx(0.2).margin(0.01));
}

TEST_CASE("no verdict is for less than what baselines differ by among themselves", "[causal]") {
  int withheld = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto report = estimate({synthetic_run({.units = {linear("a", 0.05), linear("b", -0.05)},
                                                 .experiments = 80,
                                                 .noise = 0.05,
                                                 .seed = seed})});
    const auto& null = *report.progress[0].null_effect;
    const double bound = std::max(std::abs(null.low), std::abs(null.high));
    for (const auto& unit : report.progress[0].units) {
      withheld += unit.within_null ? 1 : 0;
      if (unit.within_null) CHECK(unit.verdict == Verdict::not_enough_data);
      if (unit.verdict != Verdict::optimise && unit.verdict != Verdict::contention) continue;
      CHECK(std::abs(unit.best->effect.value) > bound);
      const auto stated = statement_of(unit, report.progress[0].bearing);
      REQUIRE(stated);
      CHECK((stated->effect.low > bound || stated->effect.high < -bound));
    }
  }
  CHECK(withheld > 0);  // otherwise this shows nothing
}

TEST_CASE("without a pool a verdict is of what is said of a small speedup", "[causal]") {
  int withheld = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto report = estimate({synthetic_run({.units = {linear("a", 0.4), linear("b", -0.4)},
                                                 .experiments = 22,
                                                 .noise = 0.05,
                                                 .seed = seed})});
    const auto& null = report.progress[0].null_effect;
    if (!null) {  // nothing bears a verdict
      for (const auto& unit : report.progress[0].units) {
        CHECK(unit.verdict == Verdict::not_enough_data);
      }
      continue;
    }
    const double bound = std::max(std::abs(null->low), std::abs(null->high));
    for (const auto& unit : report.progress[0].units) {
      if (unit.best || !unit.slope) continue;
      withheld += unit.within_null ? 1 : 0;
      if (unit.verdict != Verdict::optimise && unit.verdict != Verdict::contention) continue;
      CHECK(0.1 * std::abs(unit.slope->value) > bound);
    }
  }
  CHECK(withheld > 0);  // otherwise this shows nothing
}

TEST_CASE("beside others a unit gives what its thread waits for a core, too", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}, .experiments = 400, .noise = 0.01});
  run.overhead.period_ns = kMillisecond;  // 0.2 threads execute it, as in the case below
  CHECK(warned(estimate({run}), "own time allows for"));
  // For each millisecond that it runs, its thread waits two because of other programs.
  for (Experiment& each : run.experiments) {
    each.cores.cpu_ns = 100 * kMillisecond;
    each.cores.stranger_wait_ns = 200 * kMillisecond;
  }
  const auto report = estimate({run});
  CHECK(unit_of(report, "a").ceiling.value() == Approx(0.6).margin(0.05));
  CHECK_FALSE(warned(report, "own time allows for"));
}

// Threads run for 600 ms in 500 ms, and wait for 200 ms. Unit a may be in the thread that had all
// of the waits, so that 0.2 threads execute it and 0.4 wait.
TEST_CASE("beside others threads do not wait alike", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}, .experiments = 400, .noise = 0.01});
  run.overhead.period_ns = kMillisecond;
  for (Experiment& each : run.experiments) {
    each.cores.cpu_ns = 6 * each.wall_ns / 5;
    each.cores.stranger_wait_ns = 2 * each.wall_ns / 5;
  }
  CHECK(unit_of(estimate({run}), "a").ceiling.value() == Approx(0.6).margin(0.05));
}

TEST_CASE("a unit gives at most what time threads spend in it", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.15)}, .experiments = 400, .noise = 0.01});
  // 100 samples of 1 ms in 500 ms: 0.2 threads execute it, on average.
  run.overhead.period_ns = kMillisecond;
  const double counted = static_cast<double>(run.samples[0].baseline_count);
  const auto possible = estimate({run});
  CHECK(unit_of(possible, "a").ceiling.value() == Approx(0.2 * (1 + 3 / std::sqrt(counted))));
  CHECK_FALSE(warned(possible, "more than"));

  run = synthetic_run({.units = {linear("a", 0.5)}, .experiments = 400, .noise = 0.01});
  run.overhead.period_ns = kMillisecond;
  CHECK(warned(estimate({run}), "own time allows for"));

  // Two threads are always in it, so the bound is what one of them takes.
  run.overhead.period_ns = 10 * kMillisecond;
  CHECK(unit_of(estimate({run}), "a").ceiling == 1.0);
  CHECK_FALSE(warned(estimate({run}), "own time allows for"));
  run.overhead.period_ns = 0;  // unknown
  CHECK(unit_of(estimate({run}), "a").ceiling == 1.0);
}

TEST_CASE("too little data is said, not guessed", "[causal]") {
  const auto report =
      estimate({synthetic_run({.units = {linear("a", 0.2)}, .experiments = 3, .seed = 4})});
  CHECK(unit_of(report, "a").verdict == Verdict::not_enough_data);
  CHECK_FALSE(unit_of(report, "a").slope);
  CHECK(warned(report, "too few experiments"));

  // There are enough experiments, but they are too noisy to tell.
  const auto noisy = estimate(
      {synthetic_run({.units = {linear("a", 0.02)}, .experiments = 20, .noise = 0.3, .seed = 4})});
  CHECK(unit_of(noisy, "a").verdict == Verdict::not_enough_data);
}

TEST_CASE("no effect possible is a finding", "[causal]") {
  const auto report =
      estimate({synthetic_run({.units = {linear("a", 0), linear("b", 0)}, .experiments = 200})});
  CHECK(warned(report, "no effect larger than"));
  CHECK(unit_of(report, "a").verdict == Verdict::no_effect);
  const auto found = estimate({synthetic_run({.units = {linear("a", 0.3)}, .experiments = 100})});
  CHECK_FALSE(warned(found, "no effect larger than"));
}

TEST_CASE("experiments in which nothing was faster show no effect of anything", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0), linear("b", 0)}, .experiments = 200});
  const auto all = estimate({run});
  CHECK(all.selfcheck.tested.experiments == all.selfcheck.tested.sampled);
  CHECK(all.selfcheck.tested.paused == 0);
  CHECK(all.selfcheck.tested.samples == 100 * all.selfcheck.tested.experiments);
  std::uint64_t treatments = 0;
  for (Experiment& experiment : run.experiments) {
    if (experiment.unit.name != "a") continue;
    experiment.samples = 0;
    experiment.pauses = 1;
    treatments += experiment.speedup > 0 ? 1 : 0;
  }
  const auto report = estimate({run});
  CHECK(unit_of(report, "a").slope);
  CHECK(unit_of(report, "a").verdict == Verdict::not_enough_data);
  CHECK(unit_of(report, "b").verdict == Verdict::no_effect);
  CHECK(unit_of(report, "a").tested.experiments == treatments);
  CHECK(unit_of(report, "a").tested.sampled == 0);
  CHECK(unit_of(report, "a").tested.paused == treatments);
  CHECK_FALSE(warned(report, "no effect larger than"));
  CHECK(warned(report, "work: the experiments tell nothing: a "));
  CHECK(report.selfcheck.tested.experiments == all.selfcheck.tested.experiments);
  CHECK(report.selfcheck.tested.sampled == report.selfcheck.tested.experiments - treatments);
  CHECK(report.selfcheck.tested.paused == treatments);
}

TEST_CASE("a facility is seen where all runs saw it", "[causal]") {
  Run first, second;
  first.id = "a";
  first.facilities = {{"bpf", "seen"}, {"sample", "seen"}, {"uprobe", "refused"}};
  second.id = "b";
  second.facilities = {{"bpf", "never-fired"}, {"sample", "seen"}, {"uprobe", "seen"}};
  const std::map<std::string, std::string> all = {
      {"bpf", "never-fired"}, {"sample", "seen"}, {"uprobe", "refused"}};
  CHECK(estimate({first, second}).facilities == all);
  CHECK(estimate({second, first}).facilities == all);
}

TEST_CASE("runs keep their own baselines", "[causal]") {
  // The second host takes three times as long; pooled baselines would find an effect of that size.
  const auto first = synthetic_run({.units = {linear("a", 0.2)}, .noise = 0.01, .seed = 1});
  const auto second =
      synthetic_run({.units = {linear("a", 0.2)}, .noise = 0.01, .seed = 2, .period_ns = 3e6});
  const auto report = estimate({first, second});
  const auto& a = unit_of(report, "a");
  CHECK(report.runs == 2);
  CHECK(report.experiments == 200);
  CHECK(a.slope->value / a.phase_factor == Approx(0.2).margin(0.01));
}

TEST_CASE("discarded experiments count only as discarded", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.2)}, .noise = 0});
  for (std::size_t i = 0; i < run.experiments.size(); i += 3) {
    run.experiments[i].discarded = "controller late";
    run.experiments[i].throughput[0].last_ns *= 100;
  }
  const auto report = estimate({run});
  const auto& a = unit_of(report, "a");
  CHECK(a.slope->value / a.phase_factor == Approx(0.2).margin(1e-6));
  CHECK(report.experiments_discarded == 34);
  CHECK(warned(report, "34 of 100 experiments were discarded"));
}

TEST_CASE("progress periods", "[causal]") {
  Experiment e;
  e.effective_ns = kSecond;
  const Point work{"work", false};
  e.throughput = {{"work", 0, 0, 0}};
  CHECK_FALSE(period_s(e, work));
  e.throughput = {{"work", 1, 5, 5}};
  CHECK(period_s(e, work) == 1.0);
  e.throughput = {{"work", 11, 100, 100 + kSecond / 2}};
  CHECK(period_s(e, work) == 0.05);
  // Both visits are at one virtual instant, so there is no period.
  e.throughput = {{"work", 2, 7, 7}};
  CHECK_FALSE(period_s(e, work));
  CHECK_FALSE(period_s(e, {"other", false}));

  const Point request{"request", true};
  e.latency = {{"request", 100, 100, 4, 6, 0, 0, 0}};
  CHECK(period_s(e, request) == 0.05);  // by Little's law: 5 in progress, 100 a second
  e.latency[0].mean_ns = 20 * kMillisecond;
  CHECK(period_s(e, request) == 0.02);
  e.latency = {{"request", 0, 100, 4, 6, 0, 0, 0}};
  CHECK_FALSE(period_s(e, request));
}

TEST_CASE("the rate is of real time, though visits take no virtual time", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}, .noise = 0, .period_ns = 1e6});
  for (Experiment& e : run.experiments) {
    e.delay_ns = e.effective_ns;
    e.wall_ns = 2 * e.effective_ns;
  }
  CHECK(estimate({run}).progress.at(0).rate_per_s == Approx(500));
}

TEST_CASE("latency is estimated like a period", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}, .noise = 0});
  for (Experiment& e : run.experiments) {
    const double latency_ns = 2e6 * (1 - 0.3 * e.speedup);
    e.latency.push_back({"request", 1000, 1000, 1, 1, static_cast<Nanoseconds>(latency_ns),
                         static_cast<Nanoseconds>(latency_ns * 0.9), 9'000'000});
    e.throughput.clear();
  }
  const auto report = estimate({run});
  REQUIRE(report.progress.size() == 1);
  const auto& point = report.progress[0];
  CHECK(point.latency);
  CHECK(point.visits == 100'000);
  CHECK(point.mean_latency_s == Approx(0.002));
  CHECK(point.p50_latency_s == Approx(0.0018));
  CHECK(point.p99_latency_s == Approx(0.009));
  CHECK(point.rate_per_s == Approx(2000));
  const auto& a = unit_of(report, "a");
  CHECK(a.slope->value / a.phase_factor == Approx(0.3).margin(1e-4));
}

// In each experiment threads wait as long as the target ran, part of it for other programs.
TEST_CASE("waits for a core are told apart by whom they are owed to", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}});
  run.losses.samples_total = 0;
  const auto report_of = [&](double foreign) {
    for (Experiment& e : run.experiments) {
      e.runnable_wait_ns = e.wall_ns;
      e.foreign_wait_ns = static_cast<Nanoseconds>(foreign * static_cast<double>(e.wall_ns));
    }
    return estimate({run});
  };
  const auto both = report_of(0.25);
  CHECK(both.oversubscribed_share == Approx(0.5));
  CHECK(both.foreign_share == Approx(0.125));
  CHECK(warned(both, "38 % of the time because more of them"));
  CHECK(warned(both, "12 % of the time because of other processes"));
  const auto own = report_of(0);
  CHECK(warned(own, "because more of them"));
  CHECK_FALSE(warned(own, "because of other processes"));
  const auto foreign = report_of(1);
  CHECK_FALSE(warned(foreign, "because more of them"));
  CHECK(warned(foreign, "because of other processes"));
}

TEST_CASE("warnings", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}});
  CHECK(estimate({run}).warnings.empty());

  run.ended = false;
  run.digest = DigestResult::changed;
  run.overhead.period_ns = kMillisecond;
  run.warnings = {"pauses by ptrace"};
  for (Experiment& e : run.experiments) {
    e.paid_ns = e.asked_ns / 2;
    e.runnable_wait_ns = 300 * kMillisecond;
    e.foreign_wait_ns = 100 * kMillisecond;
    e.throughput.push_back({"never", 0, 0, 0});
  }
  const auto report = estimate({run, run});
  CHECK(warned(report, "cut off"));
  CHECK(warned(report, "not as it was before"));
  CHECK(warned(report, "were paid"));
  CHECK(warned(report, "more of them wanted to run"));
  CHECK(warned(report, "because of other processes"));
  CHECK(warned(report, "never was never visited"));
  const auto texts = texts_of(report.warnings);
  CHECK(std::count(texts.begin(), texts.end(), "pauses by ptrace") == 1);
  CHECK(report.digest == DigestResult::changed);
}

TEST_CASE("a kernel that limits samples is told of where it limits many", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}});
  run.losses.throttles = 40;
  run.losses.stacks_copied_in_part = 3;
  const auto few = estimate({run, run});
  CHECK(few.losses.throttles == 80);
  CHECK(few.losses.stacks_copied_in_part == 6);
  CHECK(few.warnings.empty());
  run.losses.throttles = few.losses.samples_total / 10;
  CHECK(warned(estimate({run}), "kernel.perf_event_max_sample_rate"));
}

TEST_CASE("where the kernel limits many samples nobody's time is known by them", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}});
  run.overhead.period_ns = kMillisecond;  // as if "a" ran a fifth of the time
  CHECK(warned(estimate({run}), "unit's own time allows for"));
  run.losses.throttles = run.losses.samples_total;
  CHECK(unit_of(estimate({run}), "a").ceiling == 1.0);
  CHECK_FALSE(warned(estimate({run}), "unit's own time allows for"));
}

TEST_CASE("lost records are warned of where they cost experiments", "[causal]") {
  Run run = synthetic_run({.units = {linear("a", 0.3)}});
  run.losses.records_lost = 20;
  const auto before = estimate({run});
  CHECK(before.losses.records_lost == 20);
  CHECK(before.warnings.empty());

  for (const std::size_t i : {0U, 3U}) {
    run.experiments[i].lost_records = 7;
    run.experiments[i].discarded = "7 records lost";
  }
  const std::string lost =
      fmt::format("14 event records were lost in 2 of {} experiments", run.experiments.size());
  run.overhead.period_ns = kMillisecond;
  CHECK(warned(estimate({run}), lost));
  CHECK(warned(estimate({run}), "use a longer --period"));
  run.overhead.period_ns = 10 * kMillisecond;  // few samples, so they are not what fills the rings
  CHECK(warned(estimate({run}), lost));
  CHECK(warned(estimate({run}), "the controller was too late to read them"));
}

TEST_CASE("nothing at all is no crash", "[causal]") {
  CHECK(estimate({}).progress.empty());
  CHECK(warned(estimate({Run{}}), "no experiment was finished"));
}

}  // namespace causalctl::causal
