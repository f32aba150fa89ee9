// The loop from samples to pauses in a script that plays the kernel, the clock and the pause
// channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/causal/engine/engine.h"

namespace causalctl::causal::test {

inline constexpr Nanoseconds kStart = 10 * kSecond;
inline constexpr Nanoseconds kMs = kMillisecond;
inline constexpr Nanoseconds kPeriod = kMs;
inline constexpr Address kUnitAddress = 0x1000;
inline constexpr Address kOtherAddress = 0x2000;
inline constexpr Address kStubAddress = 0x3000;
inline constexpr Tid kFast = 101;   // runs the selected unit
inline constexpr Tid kOther = 102;  // owes what kFast gains

class ScriptedClock final : public Clock {
 public:
  Nanoseconds now() const override { return now_ns; }
  void sleep_until(Nanoseconds deadline_ns) override {
    now_ns = std::max(now_ns, deadline_ns) + std::exchange(late_ns, 0);
  }
  std::uint32_t core() const override { return core_; }
  std::uint32_t core_ = 0;
  Nanoseconds now_ns = kStart;
  Nanoseconds late_ns = 0;  // of the next wake-up
};

class ScriptedSource final : public perf::EventSource {
 public:
  void start() override {}
  void enable_sampling(bool /*on*/) override {}
  void set_period(Nanoseconds /*period_ns*/) override {}
  void set_stack_bytes(unsigned /*bytes*/) override {}
  void jitter() override { ++redrawn; }
  perf::EventBatch drain(Nanoseconds now_ns) override {
    const auto due = std::stable_partition(
        to_come.begin(), to_come.end(),
        [&](const perf::Event& event) { return perf::time_of(event) < now_ns; });
    std::vector<perf::Event> events(to_come.begin(), due);
    to_come.erase(to_come.begin(), due);
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
      return perf::time_of(a) < perf::time_of(b);
    });
    return events;
  }
  bool target_alive() const override { return alive; }
  const perf::SessionLimits& limits() const override { return limits_; }
  perf::SessionLosses losses() const override { return {}; }

  std::vector<perf::Event> to_come;
  int redrawn = 0;
  bool alive = true;

 private:
  perf::SessionLimits limits_;
};

class ScriptedPauser final : public pause::Pauser {
 public:
  struct Asked {
    Tid thread = 0;
    Nanoseconds debt_ns = 0;
    Nanoseconds now_ns = 0;
  };
  void add_thread(Tid tid) override { threads.insert(tid); }
  void remove_thread(Tid tid) override { threads.erase(tid); }
  void set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) override {
    asked.push_back({tid, debt_ns, now_ns});
  }
  std::vector<pause::Paid> collect(Nanoseconds now_ns) override {
    std::vector<pause::Paid> ended;
    std::copy_if(to_come.begin(), to_come.end(), std::back_inserter(ended),
                 [&](const pause::Paid& paid) { return paid.end_ns < now_ns; });
    std::erase_if(to_come, [&](const pause::Paid& paid) { return paid.end_ns < now_ns; });
    return ended;
  }
  bool pausing(Tid tid) const override { return in_pause.contains(tid); }
  bool standing(Tid tid) const override { return in_pause.contains(tid); }
  bool idle() const override { return in_pause.empty(); }
  bool polls_target() const override { return polls; }
  void stand_awake(bool on) override { awake = on; }
  bool in_stub(Address instruction) const override { return instruction == kStubAddress; }
  pause::PauseTotals totals() const override { return totals_; }
  std::string name() const override { return "scripted"; }

  // The largest debt that the thread was told to pay within [from, to).
  Nanoseconds most_asked_ns(Tid thread, Nanoseconds from_ns, Nanoseconds to_ns) const {
    Nanoseconds most_ns = 0;
    for (const Asked& each : asked) {
      if (each.thread == thread && each.now_ns >= from_ns && each.now_ns < to_ns) {
        most_ns = std::max(most_ns, each.debt_ns);
      }
    }
    return most_ns;
  }

  std::set<Tid> threads;
  std::set<Tid> in_pause;
  pause::PauseTotals totals_;
  bool polls = false;
  bool awake = false;
  std::vector<Asked> asked;
  std::vector<pause::Paid> to_come;
};

class TwoUnits final : public symbols::LocationSource {
 public:
  void ask(Address address) override {
    const int line = address == kUnitAddress ? 1 : 2;
    answers_.push_back({address, "", {{"f", "/src/unit.c", line}}, true});
  }
  std::vector<symbols::Location> answers() override { return std::exchange(answers_, {}); }
  std::optional<symbols::LineInformation> lines() override { return symbols::LineInformation{}; }

 private:
  std::vector<symbols::Location> answers_;
};

// Two threads, each running on a core of its own since before the experiment; times in the scripts
// are in milliseconds after it began.
struct Scene {
  ScriptedClock clock;
  ScriptedSource source;
  ScriptedPauser pauser;
  Attribution attribution{std::make_unique<TwoUnits>(), nullptr};
  progress::Counters counters{{{"done", progress::CountedPoint::Kind::throughput},
                               {"called", progress::CountedPoint::Kind::throughput}}};
  CpuLimits limits;
  std::optional<Nanoseconds> idle_ns;  // of the cores; nullopt: not known
  bool code_spins = false;             // all of it is PAUSE instructions; false: cannot be read
  progress::Armory armory;
  Engine engine;
  Nanoseconds begun_ns = 0;

  explicit Scene(double speedup, int cores = 2, Nanoseconds visit_cost_ns = 0,
                 std::optional<Nanoseconds> idle_at_start_ns = std::nullopt,
                 bool one_unit_of_work = false, bool under_quota = false)
      : idle_ns(idle_at_start_ns),
        armory{{}, {}, {visit_cost_ns}},
        engine({.clock = clock,
                .session = source,
                .pauser = pauser,
                .attribution = attribution,
                .counters = counters,
                .sampled_points = {},
                .cores = cores,
                .idle_ns = [this] { return idle_ns; },
                .armory = armory,
                .read_target = [this](Address, std::span<std::byte> code) { return read(code); },
                .cpu_limits = [this] { return limits; }},
               {.one_unit_of_work = one_unit_of_work, .under_quota = under_quota}) {
    for (const Tid tid : {kFast, kOther}) {
      add(perf::ThreadStartEvent{id(tid), {}, kStart});
      add(perf::SwitchEvent{id(tid), kStart + 1, core(tid), perf::SwitchKind::in});
      add(perf::SampleEvent{
          id(tid), kStart + 2, core(tid), kPeriod, false, {kUnitAddress}, {}, {}});
      add(perf::SampleEvent{
          id(tid), kStart + 3, core(tid), kPeriod, false, {kOtherAddress}, {}, {}});
    }
    while (clock.now_ns < kStart + 40 * kMs) engine.step();
    begin(speedup);
  }

  // Another experiment from now on.
  void begin(double speedup = 0.5) {
    if (std::holds_alternative<mode::Experiment>(engine.mode())) engine.end();
    begun_ns = clock.now_ns;
    engine.begin_experiment(*attribution.find("unit.c:1"), speedup, kPeriod);
  }

  bool read(std::span<std::byte> code) const {
    constexpr std::byte kPause[] = {std::byte{0xf3}, std::byte{0x90}};
    for (std::size_t i = 0; i < code.size(); ++i) code[i] = kPause[i % 2];
    return code_spins;
  }
  static ThreadId id(Tid tid) { return {tid, 1}; }
  static std::uint32_t core(Tid tid) { return tid == kFast ? 0 : 1; }
  Nanoseconds at(double ms) const { return begun_ns + static_cast<Nanoseconds>(ms * kMs); }

  void add(perf::Event event) { source.to_come.push_back(std::move(event)); }
  void run_until(double ms) {
    while (clock.now_ns < at(ms)) engine.step();
  }
  void samples(Tid tid, double from_ms, int count, Address address = kUnitAddress) {
    for (int i = 0; i < count; ++i) {
      add(perf::SampleEvent{
          id(tid), at(from_ms + i), core(tid), kPeriod, false, {address}, {}, {}});
    }
  }
  void switches(Tid tid, double ms, perf::SwitchKind kind) {
    add(perf::SwitchEvent{id(tid), at(ms), core(tid), kind});
  }
  void wake(Tid waker, Tid woken, double ms, perf::WakeContext context) {
    add(perf::WakeEvent{id(waker), woken, at(ms), context});
  }
  void visit(Tid tid, double ms) { add(perf::VisitEvent{id(tid), at(ms), 0}); }
  void wait(Tid tid, double from_ms, double to_ms) {  // for a core
    switches(tid, from_ms, perf::SwitchKind::out_preempted);
    switches(tid, to_ms, perf::SwitchKind::in);
  }
  // The thread sleeps in the stub meanwhile.
  void pause(Tid tid, double from_ms, double to_ms, Nanoseconds cost_ns = 0) {
    switches(tid, from_ms, perf::SwitchKind::out_blocked);
    switches(tid, to_ms, perf::SwitchKind::in);
    pauser.to_come.push_back({tid, at(from_ms), at(to_ms), cost_ns});
  }
  Nanoseconds most_asked_ns(Tid tid, double from_ms, double to_ms) const {
    return pauser.most_asked_ns(tid, at(from_ms), at(to_ms));
  }
  progress::ThroughputCount done() const { return counters.throughput().at(0); }
};

inline constexpr auto kBlocked = perf::SwitchKind::out_blocked;
inline constexpr auto kPreempted = perf::SwitchKind::out_preempted;
inline constexpr auto kIn = perf::SwitchKind::in;

}  // namespace causalctl::causal::test
