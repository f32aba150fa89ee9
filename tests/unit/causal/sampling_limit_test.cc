#include "controller/causal/engine/sampling_limit.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {

namespace {

struct LimitedSource final : perf::EventSource {
  void start() override {}
  void enable_sampling(bool /*on*/) override {}
  void set_period(Nanoseconds /*period_ns*/) override {}
  void set_stack_bytes(unsigned /*bytes*/) override {}
  void jitter() override {}
  perf::EventBatch drain(Nanoseconds /*now_ns*/) override { return {}; }
  bool target_alive() const override { return true; }
  const perf::SessionLimits& limits() const override { return limits_; }
  perf::SessionLosses losses() const override { return {}; }
  std::optional<std::uint64_t> sample_rate_limit() const override { return limit; }

  std::optional<std::uint64_t> limit = 100'000;
  perf::SessionLimits limits_;
};

struct LimitScene {
  LimitedSource source;
  std::vector<std::string> warnings;
  SamplingLimit limit{source, warnings};
};

}  // namespace

TEST_CASE("A period that the kernel allows is taken as it is", "[causal]") {
  LimitScene scene;
  CHECK(scene.limit.allowed(kMillisecond) == kMillisecond);
  scene.source.limit.reset();
  CHECK(scene.limit.allowed(kMillisecond) == kMillisecond);
  CHECK(scene.warnings.empty());
}

TEST_CASE("A period that the kernel does not allow is lengthened, and that is told", "[causal]") {
  LimitScene scene;
  scene.source.limit = 250;
  CHECK(scene.limit.allowed(kMillisecond) == 8 * kMillisecond);
  REQUIRE(scene.warnings.size() == 1);
  CHECK_THAT(scene.warnings[0], Catch::Contains("kernel.perf_event_max_sample_rate is 250") &&
                                    Catch::Contains("every 8 ms") &&
                                    Catch::Contains("kernel.perf_event_max_sample_rate=2000"));
}

TEST_CASE("A limit that falls during the run is seen within seconds", "[causal]") {
  LimitScene scene;
  Nanoseconds now_ns = 100 * kSecond;
  Nanoseconds period_ns = scene.limit.allowed(kMillisecond);
  period_ns = scene.limit.still_allowed(period_ns, now_ns);
  CHECK(period_ns == kMillisecond);
  scene.source.limit = 500;
  // Not read again yet.
  CHECK(scene.limit.still_allowed(period_ns, now_ns + kSecond) == kMillisecond);
  period_ns = scene.limit.still_allowed(period_ns, now_ns + 2 * kSecond);
  CHECK(period_ns == 4 * kMillisecond);
  REQUIRE(scene.warnings.size() == 1);
  CHECK_THAT(scene.warnings[0], Catch::Contains("from 100000 to 500"));

  CHECK(scene.limit.still_allowed(period_ns, now_ns + 4 * kSecond) == 4 * kMillisecond);
  scene.source.limit = 100'000;  // set by hand: what was decided stays
  CHECK(scene.limit.still_allowed(period_ns, now_ns + 6 * kSecond) == 4 * kMillisecond);
  CHECK(scene.warnings.size() == 1);
}

TEST_CASE("An experiment of which a tenth was not sampled does not count", "[causal]") {
  CHECK(too_little_sampled(0, 0).empty());
  CHECK(too_little_sampled(90 * kMillisecond, 10 * kMillisecond).empty());
  CHECK_THAT(too_little_sampled(80 * kMillisecond, 20 * kMillisecond),
             Catch::StartsWith("20 % of the CPU time"));
}

}  // namespace causalctl::causal
