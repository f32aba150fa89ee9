// The intervals of calls a second, from samples of simulated programs whose rates are known: five
// distributions of durations, and three precisions of the measurement.
#include "controller/callpath/residual.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "controller/base/statistics.h"

namespace causalctl::callpath {
namespace {

std::mt19937_64 generator(7);

double uniform() { return std::uniform_real_distribution<double>(0, 1)(generator); }
double normal() { return std::normal_distribution<double>()(generator); }
double exponential() { return std::exponential_distribution<double>()(generator); }

// Durations of calls, in microseconds.
struct Durations {
  std::string name;
  double mean = 0;
  std::function<double()> of_sampled;       // of a call that a sample finds: long ones more often
  std::function<double(double)> surviving;  // the share of calls that last longer
};

const double kLog = std::log(300) - 0.5;  // so that the mean of exp(kLog + normal) is 300

const Durations kDurations[] = {
    {"all the same", 300, [] { return 300.0; }, [](double t) { return t < 300 ? 1.0 : 0.0; }},
    {"uniform", 300, [] { return 600 * std::sqrt(uniform()); },
     [](double t) { return std::max(0.0, 1 - t / 600); }},
    {"exponential", 300, [] { return 300 * (exponential() + exponential()); },
     [](double t) { return std::exp(-t / 300); }},
    {"lognormal", 300, [] { return std::exp(kLog + 1 + normal()); },
     [](double t) { return std::erfc((std::log(t) - kLog) / std::sqrt(2.0)) / 2; }},
    {"few long among short", 0.9 * 100 + 0.1 * 10'000,
     [] { return uniform() * (90 + 1000) < 90 ? 100.0 : 10'000.0; },
     [](double t) { return t < 100      ? 1.0
                           : t < 10'000 ? 0.1
                                        : 0.0; }}};

constexpr double kShare = 0.3;  // of the time in which such a call is under way
constexpr Nanoseconds kWatched = 14 * kMillisecond;

ResidualLives simulated(const Durations& durations, double precision_us, std::uint64_t samples) {
  ResidualLives residuals;
  residuals.samples = samples;
  residuals.watched_ns = kWatched;
  residuals.precision_ns = static_cast<Nanoseconds>(precision_us * kMicrosecond);
  for (std::uint64_t i = 0; i < samples; ++i) {
    if (uniform() >= kShare) continue;
    const double life_us = durations.of_sampled() * uniform();
    if (life_us < 0.75 * precision_us * uniform()) continue;  // it is over before it is watched
    const double seen_us = life_us + 0.25 * precision_us * uniform();
    const auto seen_ns = static_cast<Nanoseconds>(seen_us * kMicrosecond);
    if (seen_ns <= kWatched) residuals.lives_ns.push_back(seen_ns);
  }
  return residuals;
}

}  // namespace

TEST_CASE("intervals of calls a second contain the truth in 19 of 20 simulations",
          "[callpath][residual]") {
  constexpr int kRuns = 100;
  int all = 0, all_right = 0;
  int longer = 0, longer_right = 0;
  for (const Durations& durations : kDurations) {
    for (const double precision_us : {1.0, 10.0, 40.0}) {
      int right = 0, runs = 0;
      std::vector<double> ratios;
      for (int run = 0; run < 3 * kRuns; ++run) {  // of 1,200, 300 and 120 lives
        const std::uint64_t samples = run < kRuns ? 4000 : run < 2 * kRuns ? 1000 : 400;
        const auto rate = calls_of(simulated(durations, precision_us, samples));
        if (!rate) continue;
        ++runs;
        REQUIRE((rate->low < rate->per_second && rate->per_second < rate->high));
        const auto truth = [&](Nanoseconds longer_ns) {
          const double longer_us = static_cast<double>(longer_ns) / kMicrosecond;
          return kShare / (durations.mean * 1e-6) * durations.surviving(longer_us);
        };
        if (rate->low <= truth(rate->from_ns) && truth(rate->to_ns) <= rate->high) ++right;
        for (const LongerCalls& each : rate->longer) {
          ++longer;
          if (each.low <= truth(each.than_ns) && truth(each.than_ns) <= each.high) ++longer_right;
        }
        if (run < kRuns) ratios.push_back(rate->per_second / truth(rate->from_ns));
      }
      CAPTURE(durations.name, precision_us, right, runs, statistics::median(ratios));
      CHECK(runs > 2 * kRuns);
      CHECK(right >= runs * 9 / 10);  // three standard errors below 95 %
      CHECK(statistics::median(ratios) == Approx(1).margin(0.1));
      all += runs;
      all_right += right;
    }
  }
  CAPTURE(all_right, all);
  CHECK(all_right >= all * 94 / 100);
  CAPTURE(longer_right, longer);
  CHECK(longer_right >= longer * 95 / 100);
}

TEST_CASE("few lives tell no rate, and none of what was not watched", "[callpath][residual]") {
  ResidualLives residuals{std::vector<Nanoseconds>(63, 50'000), 1000, kWatched, 1000};
  CHECK_FALSE(calls_of(residuals));
  CHECK_FALSE(calls_of(ResidualLives{}));
  residuals.lives_ns.assign(100, 500);  // all within the precision
  CHECK_FALSE(calls_of(residuals));
  residuals.lives_ns.assign(100, 2 * kWatched);
  CHECK_FALSE(calls_of(residuals));
  residuals.lives_ns.clear();
  for (Nanoseconds i = 1; i <= 1000; ++i) residuals.lives_ns.push_back(1000 + i * 100);
  residuals.samples = 2000;
  // 10 lives a microsecond, in 2000 samples: 5000 calls a second.
  const auto rate = calls_of(residuals);
  REQUIRE(rate);
  CHECK(rate->per_second == Approx(5000).epsilon(0.02));
  CHECK((rate->low < 5000 && rate->high > 5000));
  CHECK((rate->from_ns == 1000 && rate->to_ns < 20'000));
  // Ten a microsecond up to 101 µs: all calls last so long, and none longer.
  const auto longer = [&](Nanoseconds than_ns) {
    for (const LongerCalls& each : rate->longer) {
      if (each.than_ns == than_ns) return each;
    }
    return LongerCalls{};
  };
  CHECK((longer(50'000).low > 4000 && longer(50'000).low < 5000 && longer(50'000).high > 5000));
  CHECK((longer(200'000).low == 0 && longer(500'000).high < 30));
  CHECK((rate->longer.front().than_ns == 2000 && rate->longer.back().than_ns == 10'000'000));
}

}  // namespace causalctl::callpath
