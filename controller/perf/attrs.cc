#include "controller/perf/attrs.h"

#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <ctime>

namespace causalctl::perf {
namespace {

perf_event_attr software_attr(std::uint64_t config) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  return with_common_fields(attr);
}

}  // namespace

perf_event_attr with_common_fields(perf_event_attr attr) {
  attr.size = sizeof(attr);
  attr.sample_type |= kCommonSampleType;
  attr.sample_id_all = 1;
  attr.disabled = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

perf_event_attr bookkeeping_attr(bool switches) {
  auto attr = software_attr(PERF_COUNT_SW_DUMMY);
  attr.exclude_kernel = 1;  // changes none of its records, and unprivileged users may open it then
  attr.context_switch = switches ? 1 : 0;
  attr.task = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  return attr;
}

perf_event_attr ring_attr(bool switches) {
  auto attr = software_attr(PERF_COUNT_SW_DUMMY);
  attr.exclude_kernel = 1;
  attr.context_switch = switches ? 1 : 0;
  attr.disabled = 0;
  return attr;
}

perf_event_attr sampling_attr(const SamplingFields& fields) {
  auto attr = software_attr(PERF_COUNT_SW_TASK_CLOCK);
  attr.sample_period = static_cast<std::uint64_t>(fields.period_ns);
  attr.exclude_kernel = fields.kernel ? 0 : 1;
  // The chain is needed at any depth: for a sample in the kernel its first entry is the user code.
  attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN;
  attr.exclude_callchain_kernel = fields.kernel && fields.kernel_chain ? 0 : 1;
  attr.sample_max_stack = static_cast<std::uint16_t>(std::max(1U, fields.call_chain_depth));
  attr.sample_type |= PERF_SAMPLE_REGS_USER;
  attr.sample_regs_user = kStackPointer;
  if (fields.stack_bytes > 0) {
    attr.sample_type |= PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = kUserRegisters;
    attr.sample_stack_user = fields.stack_bytes;
  }
  return attr;
}

perf_event_attr leaving_attr(unsigned stack_bytes, std::uint64_t every, bool kernel_chain) {
  auto attr = software_attr(PERF_COUNT_SW_CONTEXT_SWITCHES);
  attr.sample_period = every;
  attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = kUserRegisters;
  attr.sample_stack_user = std::min(stack_bytes, kLeavingStackBytes);
  if (kernel_chain) {
    attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr.exclude_callchain_user = 1;
  }
  return attr;
}

perf_event_attr tracepoint_attr(std::uint64_t id) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = id;
  return attr;
}

perf_event_attr waking_attr(std::uint64_t tracepoint_id) {
  auto attr = tracepoint_attr(tracepoint_id);
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_RAW;
  return with_common_fields(attr);
}

perf_event_attr breakpoint_attr(Address address) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = address;
  attr.bp_len = sizeof(long);  // what the kernel demands of an execution breakpoint
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

perf_event_attr visit_attr(const perf_event_attr& event) {
  auto attr = with_common_fields(event);
  attr.sample_type = kCommonSampleType;
  attr.read_format = 0;
  attr.freq = 0;
  attr.sample_period = 1;
  if (attr.type == PERF_TYPE_BREAKPOINT) attr.exclude_kernel = 1;
  return attr;
}

perf_event_attr sigtrap_attr(Address slot, Nanoseconds period_ns) {
  auto attr = software_attr(PERF_COUNT_SW_TASK_CLOCK);
  attr.sample_period = static_cast<std::uint64_t>(period_ns);
  attr.exclude_kernel = 1;
  attr.sigtrap = 1;
  attr.remove_on_exec = 1;
  attr.sig_data = slot;
  return attr;
}

}  // namespace causalctl::perf
