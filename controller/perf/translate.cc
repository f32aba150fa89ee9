#include "controller/perf/translate.h"

#include <bit>

#include "controller/perf/attrs.h"

namespace causalctl::perf {

std::vector<Address> user_callers(const SampleRecord& sample) {
  std::vector<Address> callers;
  const auto& chain = sample.call_chain;
  callers.reserve(chain.size());
  bool user = false;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Address address = chain[i];
    if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      user = address == static_cast<std::uint64_t>(PERF_CONTEXT_USER);
    } else if (user) {
      callers.push_back(address);
    }
  }
  if (callers.empty() && !sample.in_kernel && sample.ip != 0) callers.push_back(sample.ip);
  return callers;
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
