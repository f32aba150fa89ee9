#include "controller/compare/comparison.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/compare/synthetic.h"

namespace causalctl::compare {

using causalctl::compare::test::kTime;
using causalctl::compare::test::simulate;
using Verdict = report::Gate::Verdict;

namespace {

std::vector<RunResult> with_null(std::uint64_t seed, double log_ratio, std::size_t blocks = 10) {
  std::mt19937_64 random(seed);
  auto runs = simulate(random, 4, 0, {0.01, 0, 0, 0}, Phase::null);
  for (RunResult& run : simulate(random, blocks, log_ratio, {0.01, 0, 0, 0})) {
    run.start_ns += 16 * kSecond;
    runs.push_back(std::move(run));
  }
  return runs;
}

Verdict verdict_of(double log_ratio, double limit) {
  return compare_runs(with_null(3, log_ratio), {1, false, limit}).gate->verdict;
}

}  // namespace

TEST_CASE("a comparison has the effect, the null, and what could have been seen", "[compare]") {
  const auto comparison = compare_runs(with_null(1, std::log(0.9)), {5, false, {}});
  REQUIRE(comparison.pairs == 20);
  REQUIRE(comparison.null_pairs == 8);
  REQUIRE(comparison.runs.size() == 56);
  REQUIRE(comparison.metrics.size() == 1);
  const auto& metric = comparison.metrics.front();
  REQUIRE(metric.name == "time");
  REQUIRE(metric.effect->low < 0.1);
  REQUIRE(metric.effect->high > 0.1);
  REQUIRE(metric.effect->low > 0.07);
  REQUIRE(metric.null->low < 0);
  REQUIRE(metric.null->high > 0);
  REQUIRE(*metric.p_value < 1e-4);
  REQUIRE(*metric.detectable < 0.03);
  REQUIRE(*metric.b / *metric.a == Approx(0.9).epsilon(0.02));
  REQUIRE(std::abs(*metric.drift) < 0.03);
  REQUIRE(comparison.warnings.empty());
}

TEST_CASE("what A shows against A stands at the top", "[compare]") {
  auto runs = with_null(1, std::log(0.97));
  for (RunResult& run : runs) {
    const bool slow = run.scheduled.phase == Phase::null && run.scheduled.role == Side::a;
    if (slow) run.values.front().value *= 1.05;
  }
  const auto comparison = compare_runs(runs, {5, false, {}});
  REQUIRE(excludes_zero(*comparison.metrics.front().null));
  CHECK(comparison.lead.find("A against A shows an effect of") != std::string::npos);
  CHECK(compare_runs(with_null(1, std::log(0.97)), {5, false, {}}).lead.empty());
}

TEST_CASE("a value that could not be measured is none", "[compare]") {
  auto runs = with_null(1, 0);
  for (RunResult& run : runs) run.values.front().value = std::nan("");
  const auto comparison = compare_runs(runs, {5, false, 0.02});
  REQUIRE(comparison.metrics.size() == 1);
  CHECK_FALSE(comparison.metrics.front().a);
  CHECK_FALSE(comparison.metrics.front().effect);
  CHECK_FALSE(comparison.runs.front().values.front());
  CHECK(comparison.gate->verdict == Verdict::undecided);
}

TEST_CASE("a block that is not whole does not count", "[compare]") {
  auto runs = with_null(1, 0);
  const auto whole = log_ratios(runs, kTime, Phase::pairs);
  runs.pop_back();
  REQUIRE(log_ratios(runs, kTime, Phase::pairs).size() == whole.size() - 1);
  REQUIRE(compare_runs(runs, {}).pairs == 18);
  runs[20].values.clear();
  REQUIRE(log_ratios(runs, kTime, Phase::pairs).size() == whole.size() - 2);
}

TEST_CASE("a linear drift of the machine does not touch the blocks", "[compare]") {
  std::mt19937_64 random(9);
  const auto runs = simulate(random, 6, std::log(0.95), {0, 0, 0, 0.01});
  for (const double ratio : log_ratios(runs, kTime, Phase::pairs)) {
    REQUIRE(ratio == Approx(std::log(0.95)));
  }
  REQUIRE(*compare_runs(runs, {}).metrics.front().drift ==
          Approx(std::exp(0.23) - 1).epsilon(0.15));
}

TEST_CASE("a null that shows an effect is warned of", "[compare]") {
  auto runs = with_null(1, 0);
  for (RunResult& run : runs) {
    if (run.scheduled.phase == Phase::null && run.scheduled.role == Side::b)
      run.values.front().value *= 1.2;
  }
  const auto comparison = compare_runs(runs, {});
  REQUIRE(comparison.warnings.size() == 1);
  REQUIRE(comparison.warnings.front().find("A against A") != std::string::npos);
}

TEST_CASE("--fail-if-slower: slower with certainty and by that much, or certainly not so much",
          "[compare]") {
  REQUIRE(verdict_of(std::log(1.05), 0.02) == Verdict::failed);
  REQUIRE(verdict_of(0, 0.02) == Verdict::passed);
  REQUIRE(verdict_of(std::log(0.9), 0.02) == Verdict::passed);
  REQUIRE(verdict_of(0, 0.0001) == Verdict::undecided);
  REQUIRE(!compare_runs({}, {0, false, 0.02}).gate);
}

TEST_CASE("throughput is shown as a rate, its effect by time per unit", "[compare]") {
  auto runs = with_null(1, std::log(0.5));
  for (RunResult& run : runs) run.values.front().metric.kind = report::MetricKind::throughput;
  const auto metric = compare_runs(runs, {}).metrics.front();
  REQUIRE(*metric.b / *metric.a == Approx(2).epsilon(0.03));
  REQUIRE(metric.effect->value == Approx(0.5).epsilon(0.03));
}

TEST_CASE("without an interval there is no effect, and no verdict", "[compare]") {
  const auto comparison = compare_runs(with_null(1, 0, 2), {0, false, 0.02});
  REQUIRE_FALSE(comparison.metrics.front().effect);
  REQUIRE(comparison.gate->verdict == Verdict::undecided);
}

TEST_CASE("a prediction agrees when the difference may be nothing", "[compare]") {
  report::Prediction prediction;
  prediction.predicted = {0.10, 0.08, 0.12};
  prediction.achieved = {0.12, 0.11, 0.13};
  judge_prediction(prediction);
  REQUIRE(prediction.agrees);
  REQUIRE(prediction.difference.value == Approx(0.02));
  REQUIRE(prediction.difference.low == Approx(0.02 - std::hypot(0.01, 0.02)));
  prediction.achieved = {0.15, 0.14, 0.16};
  judge_prediction(prediction);
  REQUIRE_FALSE(prediction.agrees);
}

TEST_CASE("many looks: wider intervals that hold at each, and no p-value", "[compare]") {
  const auto runs = with_null(1, std::log(0.9), 20);
  const auto once = compare_runs(runs, {5, false, {}}).metrics.front();
  const auto always = compare_runs(runs, {5, true, {}}).metrics.front();
  REQUIRE(always.effect->low < once.effect->low);
  REQUIRE(always.effect->high > once.effect->high);
  REQUIRE(always.effect->low > 0);
  REQUIRE_FALSE(always.p_value);
  REQUIRE(once.p_value);
  REQUIRE(always.null->low == once.null->low);
}

}  // namespace causalctl::compare
