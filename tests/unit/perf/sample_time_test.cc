#include "controller/perf/sample_time.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace causalctl::perf {
namespace {

// A thread whose pieces of work take 100 ns, and the one in which it is sampled `sample_ns` more;
// the next thousand take 2 ns more each.
Worked work(int samples, Nanoseconds period_ns, Nanoseconds sample_ns) {
  Worked worked;
  Nanoseconds now_ns = 0;
  int cold = 0;
  Nanoseconds next_ns = period_ns / 2;
  while (worked.samples_ns.size() < static_cast<std::size_t>(samples) || now_ns < next_ns) {
    now_ns += cold-- > 0 ? 102 : 100;
    if (now_ns > next_ns && worked.samples_ns.size() < static_cast<std::size_t>(samples)) {
      worked.samples_ns.push_back(next_ns);
      now_ns += sample_ns;
      next_ns += period_ns;
      cold = 1000;
    }
    worked.ends_ns.push_back(now_ns);
  }
  return worked;
}

// From `from_ns` on everything is `by_ns` later.
void delay(Worked& worked, Nanoseconds from_ns, Nanoseconds by_ns) {
  for (auto* times : {&worked.ends_ns, &worked.samples_ns, &worked.switches_ns}) {
    for (Nanoseconds& time_ns : *times) time_ns += time_ns > from_ns ? by_ns : 0;
  }
}

TEST_CASE("what a sample takes is its interrupt and the slower work behind it",
          "[perf][sample_time]") {
  const auto time_ns = mean_excess(excess_by_samples(work(40, kMillisecond, 12'000)));
  REQUIRE(time_ns);
  CHECK(time_ns->value == Approx(14'000).margin(200));
  CHECK(time_ns->low <= time_ns->value);
  CHECK(time_ns->high >= time_ns->value);
}

TEST_CASE("a sample beside which another thread had the core says nothing", "[perf][sample_time]") {
  Worked worked = work(40, kMillisecond, 12'000);
  const std::size_t all = excess_by_samples(worked).size();
  const Nanoseconds lost_ns = worked.samples_ns[7] + 20'000;
  delay(worked, lost_ns, 3 * kMillisecond);
  worked.switches_ns = {lost_ns};
  const auto excess_ns = excess_by_samples(worked);
  CHECK(excess_ns.size() == all - 1);
  CHECK(*std::max_element(excess_ns.begin(), excess_ns.end()) < 15'000);
}

TEST_CASE("a stall of the machine counts as little more than usual", "[perf][sample_time]") {
  std::vector<double> excess_ns;
  for (int i = 0; i < 60; ++i) excess_ns.push_back(12'000 + 500 * (i % 5));
  const double without = mean_excess(excess_ns)->value;
  excess_ns[30] = 4e6;
  CHECK(mean_excess(excess_ns)->value == Approx(without).epsilon(0.03));
  excess_ns[30] = -4e6;
  CHECK(mean_excess(excess_ns)->value == Approx(without).epsilon(0.03));
}

TEST_CASE("nothing becomes faster by samples", "[perf][sample_time]") {
  std::vector<double> excess_ns;
  for (int i = 0; i < 60; ++i) excess_ns.push_back(i % 2 == 0 ? -3000 : 2000);
  const auto time_ns = mean_excess(excess_ns);
  REQUIRE(time_ns);
  CHECK(time_ns->value == 0);
  CHECK(time_ns->low == 0);
  CHECK(time_ns->high > 0);
}

TEST_CASE("samples that are too frequent to be told apart, and too few", "[perf][sample_time]") {
  CHECK(excess_by_samples(work(40, 150 * kMicrosecond, 12'000)).empty());
  CHECK_FALSE(mean_excess(excess_by_samples(work(9, kMillisecond, 12'000))));
  CHECK(excess_by_samples({}).empty());
}

}  // namespace
}  // namespace causalctl::perf
