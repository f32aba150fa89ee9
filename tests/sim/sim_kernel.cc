#include "tests/sim/sim_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/base/error.h"

namespace causalctl::sim {

void SimClock::sleep_until(Nanoseconds deadline_ns) {
  const auto late_ns = static_cast<Nanoseconds>(random_.uniform(
      static_cast<double>(latency_.least_ns), static_cast<double>(latency_.most_ns)));
  machine_.run_until(std::max(deadline_ns, machine_.now()) + late_ns);
  if (tick_cost_ns_ > 0) {
    core_ = static_cast<std::uint32_t>(ticks_++ % machine_.options().cores);
    machine_.steal(core_, tick_cost_ns_);
  }
}

perf::EventBatch SimSource::drain(Nanoseconds now_ns) {
  INVARIANT(now_ns == machine_.now());  // all events up to now have happened
  return machine_.take_events();
}

std::string name_of(Line line) { return fmt::format("sim.c:{}", line); }

bool read_code(const Machine& machine, Address address, std::span<std::byte> bytes) {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  for (const Line line : machine.spinning_lines()) {
    const Address pause = address_of(line);
    if (pause < address || pause + 2 > address + bytes.size()) continue;
    bytes[pause - address] = std::byte{0xf3};
    bytes[pause - address + 1] = std::byte{0x90};
  }
  return true;
}

void LineTable::ask(Address address) {
  const auto line = static_cast<int>((address - address_of(0)) / (address_of(1) - address_of(0)));
  answers_.push_back({address, "", {{"", "/sim/sim.c", line}}, true});
}

}  // namespace causalctl::sim
