#include "controller/perf/translate.h"

#include <bit>

#include "controller/perf/attrs.h"

namespace causalctl::perf {
namespace {

// A chain has the addresses of each context behind a marker.
std::vector<Address> part_of_chain(const Words& chain, std::uint64_t context) {
  std::vector<Address> part;
  bool is_in_it = false;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Address address = chain[i];
    if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      is_in_it = address == context;
      if (is_in_it) part.reserve(chain.size() - i);
    } else if (is_in_it) {
      part.push_back(address);
    }
  }
  return part;
}

}  // namespace

std::vector<Address> user_callers(const SampleRecord& sample) {
  auto callers = part_of_chain(sample.call_chain, static_cast<std::uint64_t>(PERF_CONTEXT_USER));
  if (callers.empty() && !sample.in_kernel && sample.ip != 0) callers.push_back(sample.ip);
  return callers;
}

std::vector<Address> kernel_callers(const SampleRecord& sample) {
  return part_of_chain(sample.call_chain, static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL));
}

SwitchKind switch_kind(const SwitchRecord& record) {
  if (!record.out) return SwitchKind::in;
  return record.preempted ? SwitchKind::out_preempted : SwitchKind::out_blocked;
}

SampleEvent to_sample_event(const SampleRecord& sample, ThreadId thread, Nanoseconds period_ns,
                            std::uint64_t user_registers) {
  SampleEvent event;
  event.thread = thread;
  event.time_ns = sample.common.time_ns;
  event.cpu = sample.common.cpu;
  event.period_ns = period_ns;
  event.in_kernel = sample.in_kernel;
  event.callers = user_callers(sample);
  event.kernel = kernel_callers(sample);
  const auto registers = sample.registers.size();
  constexpr std::size_t before = std::popcount(kUserRegisters & (kStackPointer - 1));
  if (registers == 1) event.stack_pointer = sample.registers[0];
  if (registers > 1) {
    if (registers > before) event.stack_pointer = sample.registers[before];
    event.user.mask = user_registers;
    event.user.registers.resize(sample.registers.size());
    for (std::size_t i = 0; i < sample.registers.size(); ++i) {
      event.user.registers[i] = sample.registers[i];
    }
    event.user.stack.assign(sample.stack.begin(), sample.stack.end());
    event.user.truncated = sample.stack.empty() || sample.stack.size() == sample.stack_asked;
  }
  return event;
}

}  // namespace causalctl::perf
