// The simulated machine as the controller sees it: its clock, its records, its line table.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/perf/event_source.h"
#include "controller/symbols/async_symbolizer.h"
#include "tests/sim/machine.h"

namespace causalctl::sim {

// How late the controller acts after the tick that it asked for.
struct Latency {
  Nanoseconds least_ns = 50 * kMicrosecond;
  Nanoseconds most_ns = 50 * kMicrosecond;
};

class SimClock final : public Clock {
 public:
  // At each tick the controller takes `tick_cost_ns` from a core, each time from the next one.
  SimClock(Machine& machine, Latency latency, Nanoseconds tick_cost_ns, std::uint64_t seed)
      : machine_(machine), latency_(latency), tick_cost_ns_(tick_cost_ns), random_(seed) {}

  Nanoseconds now() const override { return machine_.now(); }
  void sleep_until(Nanoseconds deadline_ns) override;
  std::uint32_t core() const override { return core_; }

 private:
  Machine& machine_;
  Latency latency_;
  Nanoseconds tick_cost_ns_;
  Random random_;
  std::uint64_t ticks_ = 0;
  std::uint32_t core_ = 0;
};

class SimSource final : public perf::EventSource {
 public:
  explicit SimSource(Machine& machine) : machine_(machine) {}

  void start() override { machine_.watch(); }
  void enable_sampling(bool on) override { machine_.enable_sampling(on); }
  void set_period(Nanoseconds period_ns) override { machine_.set_period(period_ns); }
  void set_stack_bytes(unsigned /*bytes*/) override {}
  void jitter() override { machine_.jitter(); }
  perf::EventBatch drain(Nanoseconds now_ns) override;
  bool target_alive() const override { return machine_.alive(); }
  const perf::SessionLimits& limits() const override { return limits_; }
  perf::SessionLosses losses() const override { return {machine_.records_lost(), 0, 0, 0}; }

 private:
  Machine& machine_;
  perf::SessionLimits limits_;
};

std::string name_of(Line line);  // returns "sim.c:LINE"

// The code of the program: zeros, and PAUSE where a line spins.
bool read_code(const Machine& machine, Address address, std::span<std::byte> bytes);

class LineTable final : public symbols::LocationSource {
 public:
  void ask(Address address) override;
  std::vector<symbols::Location> answers() override { return std::exchange(answers_, {}); }
  std::optional<symbols::LineInformation> lines() override { return symbols::LineInformation{}; }

 private:
  std::vector<symbols::Location> answers_;
};

}  // namespace causalctl::sim
