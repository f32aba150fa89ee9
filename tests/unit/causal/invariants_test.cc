// The invariants of the engine: each is broken where a call can break it, and none breaks whatever
// the kernel says: records are lost, threads vanish, and clocks step between cores.
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "controller/base/error.h"
#include "controller/causal/engine/core_pool.h"
#include "controller/causal/engine/own_cores.h"
#include "tests/unit/causal/engine_scene.h"

namespace causalctl::causal {
namespace {

using test::kFast;
using test::kMs;
using test::kOther;
using test::kOtherAddress;
using test::kPeriod;
using test::kUnitAddress;
using test::Scene;

void experiment(Engine& engine) { engine.begin_experiment(0, 0.5, kPeriod); }
void counting(Engine& engine) { engine.begin_counting(); }
void uniform(Engine& engine) { engine.begin_uniform_pause(0.2); }
void window(Engine& engine) { engine.begin_window(); }
void paying(Engine& engine) { engine.stop_earning(); }
void end(Engine& engine) { engine.end(); }

}  // namespace

TEST_CASE("the engine's modes follow each other in one order", "[causal][engine][invariant]") {
  struct Order {
    std::vector<void (*)(Engine&)> calls;
    bool good = false;
  };
  const Order order = GENERATE(
      Order{{counting, counting, experiment, window, paying, end}, true},
      Order{{experiment, end, uniform, window, end, counting, uniform, end}, true}, Order{{end}},
      Order{{window}}, Order{{paying}}, Order{{counting, end}}, Order{{counting, paying}},
      Order{{experiment, experiment}}, Order{{experiment, counting}}, Order{{experiment, uniform}},
      Order{{experiment, end, end}}, Order{{experiment, paying, paying}},
      Order{{experiment, paying, window}}, Order{{uniform, experiment}}, Order{{uniform, uniform}},
      Order{{uniform, counting}}, Order{{uniform, paying}}, Order{{uniform, end, window}});
  Scene scene(0.5);
  scene.engine.end();
  const std::size_t last = order.calls.size() - 1;
  for (std::size_t i = 0; i < last; ++i) CHECK_NOTHROW(order.calls[i](scene.engine));
  if (order.good) {
    CHECK_NOTHROW(order.calls[last](scene.engine));
  } else {
    CHECK_THROWS_AS(order.calls[last](scene.engine), Bug);
  }
}

TEST_CASE("what is asked of the engine makes sense", "[causal][engine][invariant]") {
  Scene scene(0.5);
  CHECK_THROWS_AS(scene.engine.delay_at_visit_ns(), Bug);
  CHECK_THROWS_AS(scene.engine.set_pause_cost(-1), Bug);
  scene.engine.end();
  CHECK_THROWS_AS(scene.engine.begin_uniform_pause(0), Bug);
  CHECK_THROWS_AS(scene.engine.begin_uniform_pause(1), Bug);
  CHECK_THROWS_AS(scene.engine.begin_experiment(0, 1.1, kPeriod), Bug);
}

TEST_CASE("nothing negative is paid, nor more threads run and wait than there are",
          "[causal][ledger][invariant]") {
  Ledger ledger;
  CHECK_THROWS_AS(ledger.pay(kFast, -1), Bug);
  CHECK_THROWS_AS(ledger.lift(-1), Bug);
  OwnCores cores(2);
  CHECK_THROWS_AS(cores.change(0, -1, 0), Bug);
  OwnCores others(2);
  CHECK_THROWS_AS(others.change(0, 0, -1), Bug);
  CorePool pool(2);
  pool.runnable(0, 1);
  CHECK_THROWS_AS(pool.begin(0), Bug);
}

// The delay, which is what each thread is asked for, is what it has paid, what it owes when
// earning ends, and nothing else, if it has neither earned nor taken over anything. What it owes
// is forgiven by the end.
TEST_CASE("what is asked is paid, open or forgiven", "[causal][engine][invariant]") {
  Scene scene(0.5);
  scene.samples(kFast, 1, 40);
  scene.pause(kOther, 42, 54);
  scene.run_until(60);
  scene.engine.stop_earning();
  const Nanoseconds paid_ns = 12 * kMs;
  CHECK(scene.engine.delay_ns() == paid_ns + scene.engine.open_debt_ns());
  scene.pauser.in_pause = {kOther};
  scene.pauser.asked.clear();
  scene.engine.end();
  REQUIRE(scene.pauser.asked.size() == 1);
  CHECK(scene.pauser.asked[0].debt_ns == 0);
  CHECK(scene.engine.open_debt_ns() == 0);
}

namespace {

// A kernel that says anything: of a few threads, some of them peers, at any time near now.
class AnyKernel {
 public:
  explicit AnyKernel(std::uint64_t seed) : random_(seed) {}

  int below(int n) { return std::uniform_int_distribution(0, n - 1)(random_); }
  Tid thread() { return 100 + below(8); }

  perf::Event record(Nanoseconds now_ns) {
    const Nanoseconds time_ns = now_ns + below(3'000'000) - 20'000;
    const ThreadId id{thread(), 1};
    const auto core = static_cast<std::uint32_t>(below(3));
    switch (below(12)) {
      case 0:
        return perf::ThreadStartEvent{id, ThreadId{thread(), 1}, time_ns, below(2) == 0,
                                      below(4) == 0};
      case 1:
        return perf::ThreadExitEvent{id, time_ns};
      case 2:
        return perf::VisitEvent{id, time_ns, static_cast<std::uint32_t>(below(2))};
      case 3:
      case 4:
        return perf::SampleEvent{id,      time_ns, core,
                                 kPeriod, false,   {below(2) == 0 ? kUnitAddress : kOtherAddress},
                                 {},      {}};
      case 5:
      case 6:
      case 7: {
        const auto context = below(3) == 0 ? perf::WakeContext::hardirq : perf::WakeContext::task;
        return perf::WakeEvent{id, thread(), time_ns, context};
      }
      default: {
        constexpr perf::SwitchKind kinds[] = {perf::SwitchKind::in, perf::SwitchKind::out_blocked,
                                              perf::SwitchKind::out_preempted};
        return perf::SwitchEvent{id, time_ns, core, kinds[below(3)]};
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("no record of the kernel breaks an invariant", "[causal][engine][invariant]") {
  const std::uint64_t seed = GENERATE(range(1, 41));
  CAPTURE(seed);
  AnyKernel kernel(seed);
  Scene scene(0.5, 1 + kernel.below(3), 10 * kMicrosecond, std::nullopt, seed % 4 == 0);
  Engine& engine = scene.engine;
  for (int phase = 0; phase < 12; ++phase) {
    const Nanoseconds end_ns = scene.clock.now_ns + 60 * kMs;
    while (scene.clock.now_ns < end_ns) {
      for (int i = 0; i < 12; ++i) scene.add(kernel.record(scene.clock.now_ns));
      if (kernel.below(4) == 0) {
        const Nanoseconds start_ns = scene.clock.now_ns + kernel.below(1'000'000);
        scene.pauser.to_come.push_back({kernel.thread(), start_ns,
                                        start_ns + kernel.below(2) * kernel.below(3'000'000), 0,
                                        kernel.below(2) == 0});
      }
      scene.pauser.in_pause = {kernel.thread()};
      engine.step();
      const Nanoseconds most_ns = engine.ledger().max_lead();
      for (const Ledger::Debt& debt : engine.ledger().debts()) {
        if (debt.debt_ns > 0) CHECK(engine.ledger().lead(debt.thread) < most_ns);
      }
    }
    if (std::holds_alternative<mode::Experiment>(engine.mode())) {
      if (kernel.below(2) == 0) engine.stop_earning();
      engine.step();
      engine.end();
    } else if (std::holds_alternative<mode::UniformPause>(engine.mode())) {
      engine.end();
    }
    const int next = kernel.below(4);
    if (next == 0) engine.begin_counting();
    if (next == 1) engine.begin_uniform_pause(0.3, mode::UniformPause::Timing::prompt);
    if (next == 2) engine.begin_uniform_pause(0.6);
    if (next == 3) engine.begin_experiment(0, 0.5, kPeriod);
  }
}

}  // namespace causalctl::causal
