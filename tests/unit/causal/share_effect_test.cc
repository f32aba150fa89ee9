#include "controller/causal/analysis/share_effect.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace causalctl::causal {
namespace {

const Point kVisits{"done", false};

// Two threads meet at a barrier, after 12 and 8 ms of CPU time, beside one stranger on two cores. A
// round takes T = (12 + 20) / 2 = 16 ms. Each experiment has 100 rounds.
Experiment rounds(const std::string& unit, double speedup, Nanoseconds unit_ns) {
  Experiment e;
  e.unit.name = unit;
  e.speedup = speedup;
  e.wall_ns = e.effective_ns = 1600 * kMillisecond;
  e.throughput = {{"done", 100, 0, 1584 * kMillisecond}};
  e.cores.cpu_ns = e.cores.coupled_cpu_ns = 2000 * kMillisecond;
  e.cores.busiest_cpu_ns = 1200 * kMillisecond;
  e.cores.coupled_unit_ns = 100 * unit_ns;
  e.samples = static_cast<std::uint64_t>(e.cores.coupled_unit_ns / kMillisecond);
  e.cores.visitors_cpu_ns = 800 * kMillisecond;
  e.cores.stranger_wait_ns = 400 * kMillisecond;
  e.cores.cores = 2;
  return e;
}

Run barrier_run() {
  Run run;
  run.overhead.period_ns = kMillisecond;
  run.experiments = {rounds("a", 0, 0), rounds("a", 0.5, 12 * kMillisecond),
                     rounds("b", 0.5, 8 * kMillisecond), rounds("b", 0, 0)};
  return run;
}

double effect_of_unit(const Run& run, std::size_t number, double alone,
                      const Point& point = kVisits, bool felt = true) {
  const ShareEffect share(run, point, felt);
  return 1 - std::exp(share.with_share(run.experiments[number], std::log(1 - alone)));
}

}  // namespace

// T with 6 ms instead of 12 is (8 + 14) / 2 = 11 ms, with 4 instead of 8 (12 + 16) / 2 = 14 ms.
TEST_CASE("beside a stranger all threads gain by what one of them saves", "[causal]") {
  const Run run = barrier_run();
  CHECK(effect_of_unit(run, 1, 1.0 / 3) == Approx(5.0 / 16));
  CHECK(effect_of_unit(run, 2, 0) == Approx(2.0 / 16));
}

TEST_CASE("a baseline, and a unit that nobody ran, have no share effect", "[causal]") {
  Run run = barrier_run();
  CHECK(effect_of_unit(run, 0, 0) == Approx(0));
  run.experiments[2].cores.coupled_unit_ns = 0;
  run.experiments[2].samples = 0;
  CHECK(effect_of_unit(run, 2, 0) == Approx(0));
}

TEST_CASE("what treatments are short of in visits they are short of in samples", "[causal]") {
  Run run = barrier_run();
  run.experiments[2].cores.coupled_unit_ns /= 2;
  run.experiments[2].cores.coupled_cpu_ns /= 2;
  run.experiments[2].throughput[0].visits /= 2;
  CHECK(effect_of_unit(run, 2, 0) == Approx(2.0 / 16));
}

TEST_CASE("strangers that want less of the cores than they could have count for less", "[causal]") {
  Run run = barrier_run();
  SECTION("they take a fourth of the busiest thread's time, and a core idles for the rest") {
    for (Experiment& e : run.experiments) e.cores.idle_ns = 900 * kMillisecond;
    const double wanted = 300.0 / 1200 * (1 - 900.0 / 1600);
    CHECK(effect_of_unit(run, 2, 0) == Approx(wanted * 2 / 16));
  }
  SECTION("they have as much as it in all") {
    for (Experiment& e : run.experiments) e.cores.busiest_cpu_ns = 1000 * kMillisecond;
    CHECK(effect_of_unit(run, 2, 0) == Approx(2.0 / 16));
  }
}

TEST_CASE("there is no share effect where none is known", "[causal]") {
  Run run = barrier_run();
  const auto unchanged = [&](const Point& point = kVisits, bool felt = true) {
    CHECK(effect_of_unit(run, 1, 0.25, point, felt) == Approx(0.25));
  };
  SECTION("of a latency") { unchanged({"done", true}); }
  SECTION("of a point at its own pace") { unchanged(kVisits, false); }
  SECTION("of another point") { unchanged({"other", false}); }
  SECTION("nobody waits for strangers") {
    for (Experiment& e : run.experiments) e.cores.stranger_wait_ns = 10 * kMillisecond;
    unchanged();
  }
  SECTION("how long cores idle is not known") {
    for (Experiment& e : run.experiments) e.cores.cores = 0;
    unchanged();
  }
  SECTION("no thread meets another") {
    for (Experiment& e : run.experiments) {
      e.cores.coupled_cpu_ns = e.cores.coupled_unit_ns = e.cores.busiest_cpu_ns = 0;
    }
    unchanged();
  }
  SECTION("baselines do not count") {
    for (Experiment& e : run.experiments) {
      if (e.speedup == 0) e.discarded = "controller late";
    }
    unchanged();
  }
}

// T with 9 ms instead of 12 is (9 + 17) / 2 = 13 ms.
TEST_CASE("the share effect grows with the speedup", "[causal]") {
  Run run = barrier_run();
  run.experiments[1].speedup = 0.25;
  CHECK(effect_of_unit(run, 1, 3.0 / 16) == Approx((1 - 20.0 / 32) * 3 / 16 + 0.25 * 12 / 32));
}

TEST_CASE("what threads run that wait for nobody is not concerned", "[causal]") {
  Run run = barrier_run();
  Experiment& treatment = run.experiments[1];
  SECTION("all of the unit") {
    treatment.cores.coupled_unit_ns = 0;
    CHECK(effect_of_unit(run, 1, 0.25) == Approx(0.25));
  }
  SECTION("half of it") {
    treatment.cores.coupled_unit_ns /= 2;
    CHECK(effect_of_unit(run, 1, 0.25) == Approx((1 - 10.0 / 32) * 0.25 + 3.0 / 32));
  }
}

TEST_CASE("the threads that are coupled in treatments count, not those in baselines", "[causal]") {
  Run run = barrier_run();
  for (Experiment& e : run.experiments) {
    if (e.speedup == 0) e.cores.coupled_cpu_ns = 0;
  }
  CHECK(effect_of_unit(run, 1, 1.0 / 3) == Approx(5.0 / 16));
}

// A third of the CPU time belongs to a client on the same two cores.
TEST_CASE("peers are no strangers", "[causal]") {
  Run run = barrier_run();
  for (Experiment& e : run.experiments) {
    e.cores.cpu_ns = 1500 * kMillisecond;
    e.cores.peers_cpu_ns = 500 * kMillisecond;
  }
  CHECK(effect_of_unit(run, 2, 0) == Approx(2.0 / 16));
  for (Experiment& e : run.experiments) e.cores.peers_cpu_ns = 1100 * kMillisecond;
  CHECK(effect_of_unit(run, 2, 0) == Approx(0.5 * 2.0 / 16));
}

TEST_CASE("however much is saved a visit takes some time", "[causal]") {
  Run run = barrier_run();
  run.experiments[1].cores.coupled_unit_ns *= 10;
  CHECK(effect_of_unit(run, 1, 0.9) < 1);
}

// Half a core is granted: a round takes 20 / 0.5 = 40 ms. With 6 ms instead of 12 it takes 28.
TEST_CASE("under a quota all threads that wait for each other gain what is saved", "[causal]") {
  Run run = barrier_run();
  for (Experiment& e : run.experiments) {
    e.wall_ns = e.cores.quota_ns = 4000 * kMillisecond;
    e.cores.quota_stopped_ns = 2400 * kMillisecond;
    e.cores.quota_granted_ns = 2000 * kMillisecond;
    e.cores.stranger_wait_ns = 0;
  }
  CHECK(effect_of_unit(run, 1, 1.0 / 3) == Approx(12.0 / 40));
  CHECK(effect_of_unit(run, 2, 0) == Approx(8.0 / 40));
  SECTION("and others have their part of it") {
    // A hot thread runs for as long as a round takes without a quota, 12 ms: T = (20 + 12) / 0.5.
    for (Experiment& e : run.experiments) {
      e.wall_ns = e.cores.quota_ns = 6400 * kMillisecond;
      e.cores.quota_granted_ns = 3200 * kMillisecond;
    }
    CHECK(effect_of_unit(run, 1, 1.0 / 3) == Approx((4.0 + 6.0) / 32));
  }
  SECTION("but a visit takes no less time than without stops") {
    // 1.6 cores are granted: a round takes 12.5 ms, and 12 without stops.
    for (Experiment& e : run.experiments) {
      e.wall_ns = e.cores.quota_ns = 1250 * kMillisecond;
      e.cores.quota_stopped_ns = 50 * kMillisecond;
      e.cores.quota_granted_ns = 2000 * kMillisecond;
    }
    CHECK(effect_of_unit(run, 1, 1.0 / 3) == Approx(6.0 / 20));
    CHECK(effect_of_unit(run, 2, 0) == Approx(0.5 / 12.5));  // not 4 / 20
  }
  SECTION("for as long as it is used up") {
    for (Experiment& e : run.experiments) {
      e.cores.quota_ns /= 2;
      e.cores.quota_granted_ns /= 2;
    }
    CHECK(effect_of_unit(run, 2, 0) == Approx(4.0 / 40));
  }
  SECTION("and beside strangers for the rest of the time") {
    run = barrier_run();
    for (Experiment& e : run.experiments) {
      e.cores.quota_ns = e.wall_ns / 2;
      e.cores.quota_stopped_ns = e.wall_ns / 3;
      e.cores.quota_granted_ns = e.wall_ns / 4;  // half a core
    }
    // Half of u p is 8 of 2 16, and half of it 8 of 16 / 2; e is 0.
    CHECK(effect_of_unit(run, 2, 0) == Approx(0.5 * (8.0 / 32 + 8.0 / 8) / 2));
  }
}

}  // namespace causalctl::causal
