// What counts a point is chosen by what its breakpoints cost, in the script of engine_scene.h.
#include "controller/causal/experiments/count_choice.h"

#include <catch2/catch.hpp>
#include <vector>

#include "controller/progress/other_way.h"
#include "tests/unit/causal/engine_scene.h"

namespace causalctl::causal {
namespace {

using test::kFast;
using test::kMs;
using test::Scene;

// Visits come at one rate while breakpoints stand, and at another one while they rest.
class Scripted final : public progress::OtherWay {
 public:
  struct State {
    double rate_with = 0, rate_without = 0;  // visits a second
    bool on = true;
    bool possible = true;
    int tried = 0;
    bool replaced = false;
  };

  Scripted(State& state, const Clock& clock) : state_(state), clock_(clock) {
    since_ns_ = clock.now();
  }
  void enable_breakpoints(bool on) override {
    (void)hits();
    state_.on = on;
  }
  std::uint64_t hits() const override {
    const double rate = state_.on ? state_.rate_with : state_.rate_without;
    hits_ += rate * static_cast<double>(clock_.now() - since_ns_) / kSecond;
    since_ns_ = clock_.now();
    return static_cast<std::uint64_t>(hits_);
  }
  Nanoseconds visit_cost_ns() const override { return 5'000; }
  bool replace_breakpoints() override { return state_.replaced = true; }

 private:
  State& state_;
  const Clock& clock_;
  mutable double hits_ = 0;
  mutable Nanoseconds since_ns_ = 0;
};

struct Choice : Scene {
  Choice() : Scene(0) {
    engine.end();
    armory.visit_costs_ns = {5'000, 5'000};
    armory.breakpoints = {{test::kOtherAddress + 8, 0}};
    run.counting = {{"done", "hardware breakpoint", 5'000, progress::CountedBy::breakpoint, true}};
  }
  // Returns what was measured of the breakpoints that stay.
  KeptBreakpoints choose() {
    const EngineParts parts = this->parts();
    const Nanoseconds begin_ns = clock.now();
    auto kept = choose_counting({engine, parts, never}, 700 * kMs, run);
    CHECK(clock.now() - begin_ns < 1500 * kMs);
    CHECK(state.on);
    return kept;
  }
  // So many threads have begun, and the point was passed a hundred times.
  void births(int count) {
    for (int i = 0; i < count; ++i) counters.thread_began(1000 + i);
    for (int i = 0; i < 100; ++i) counters.visit(0, kFast, i);
    const EngineParts parts = this->parts();
    count_births({engine, parts, never}, run);
  }
  EngineParts parts() {
    EngineParts parts{clock, source, pauser, attribution, counters, {}, 0,
                      {},    {},     2,      {},          armory,   {}, {}};
    if (state.possible) {
      parts.other_way = [this](std::uint32_t tag) -> std::unique_ptr<progress::OtherWay> {
        CHECK(tag == 0);
        ++state.tried;
        return std::make_unique<Scripted>(state, clock);
      };
    }
    return parts;
  }
  void hot_line() {  // 60 samples, of which all lie in the breakpoint's cache line
    samples(kFast, 100, 60, test::kOtherAddress);
    run_until(200);
  }

  Scripted::State state;
  std::function<bool()> never = [] { return false; };
  Run run;
};

}  // namespace

TEST_CASE("a breakpoint that slows a hot loop gives way to a uprobe", "[causal][counting]") {
  Choice choice;
  choice.hot_line();
  choice.state.rate_with = 490;
  choice.state.rate_without = 2300;
  CHECK(choice.choose().empty());
  CHECK(choice.state.replaced);
  CHECK_THAT(choice.run.counting[0].by,
             Catch::Contains("64 bytes") && Catch::Contains("longer with it"));
}

TEST_CASE("a breakpoint stays in a hot loop that it does not slow", "[causal][counting]") {
  Choice choice;
  choice.hot_line();
  choice.state.rate_with = choice.state.rate_without = 2300;
  const auto kept = choice.choose();
  REQUIRE(kept.size() == 1);
  CHECK(kept.at(0).longer == Approx(0).margin(0.005));
  CHECK(lost_by(kept.at(0)) == Approx(0).margin(0.005));
  CHECK_FALSE(choice.state.replaced);
  CHECK(choice.run.counting[0].by == "hardware breakpoint");
}

TEST_CASE("in a hot loop that is too slow to be measured uprobes count", "[causal][counting]") {
  Choice choice;
  choice.hot_line();
  choice.state.rate_with = choice.state.rate_without = 3;
  (void)choice.choose();
  CHECK(choice.state.tried == 1);
  CHECK(choice.state.replaced);
}

TEST_CASE("uprobes that do not fire do not replace a breakpoint", "[causal][counting]") {
  Choice choice;
  choice.hot_line();
  (void)choice.choose();
  CHECK(choice.state.tried == 1);
  CHECK_FALSE(choice.state.replaced);
}

TEST_CASE("both ends of a latency are counted all the time", "[causal][counting]") {
  Choice choice;
  choice.hot_line();
  using Kind = progress::CountedPoint::Kind;
  progress::Counters latency(
      std::vector<progress::CountedPoint>{{"done", Kind::begin}, {"done", Kind::end}});
  EngineParts parts{choice.clock,
                    choice.source,
                    choice.pauser,
                    choice.attribution,
                    latency,
                    {},
                    0,
                    {},
                    {},
                    2,
                    {},
                    choice.armory,
                    {},
                    {}};
  CHECK(dear_breakpoints({choice.engine, parts, choice.never}).empty());
}

TEST_CASE("where threads begin often uprobes count", "[causal][counting]") {
  Choice choice;
  choice.state.rate_with = 100;
  choice.births(2);
  CHECK(choice.state.tried == 0);
  choice.births(1);
  CHECK(choice.state.replaced);
  CHECK_THAT(choice.run.counting[0].by, Catch::Contains("threads begin often"));
}

TEST_CASE("where threads begin often breakpoints stay if uprobes do not fire",
          "[causal][counting]") {
  Choice choice;
  choice.births(10);
  CHECK(choice.state.tried == 1);
  CHECK_FALSE(choice.state.replaced);
  choice.state.possible = false;
  choice.births(10);
  CHECK(choice.run.counting[0].by == "hardware breakpoint");
}

TEST_CASE("a breakpoint away from hot code is not tried", "[causal][counting]") {
  Choice choice;
  choice.armory.breakpoints = {{test::kOtherAddress + 4096, 0}};
  choice.hot_line();
  choice.state.rate_with = 490;
  choice.state.rate_without = 2300;
  (void)choice.choose();
  CHECK(choice.state.tried == 0);
  CHECK_FALSE(choice.state.replaced);
}

TEST_CASE("where nothing else can count a point its breakpoint stays", "[causal][counting]") {
  Choice choice;
  choice.state.possible = false;
  choice.hot_line();
  CHECK(choice.choose().empty());
  CHECK(choice.run.counting[0].by == "hardware breakpoint");
}

TEST_CASE("uprobes are better where breakpoints cost more, certainly", "[causal][counting]") {
  BreakpointCost cost{0.10, 0.06, 0.14, false, 0.01};
  CHECK(uprobes_are_better(cost));  // the breakpoint is hit often, the uprobe is emulated
  cost.uprobe_share = 0.08;
  CHECK_FALSE(uprobes_are_better(cost));
  cost = {0.10, -0.02, 0.22, false, 0.01};  // that may be noise
  CHECK_FALSE(uprobes_are_better(cost));
  cost.hot_line = true;  // there is a reason for it
  CHECK(uprobes_are_better(cost));
  cost = {std::nullopt, 0, 0, false, 0};
  CHECK_FALSE(uprobes_are_better(cost));
}

}  // namespace causalctl::causal
