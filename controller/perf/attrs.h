// The perf_event_attr of every event that the session or the pause channel opens (pure).
//
// All events carry the same common fields, PERF_SAMPLE_IDENTIFIER first, and the same clock, so
// that they may share a ring and their records can be told apart by id. Source: perf_event_open(2).
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "controller/base/types.h"

namespace causalctl::perf {

// In every record of every event; all but PERF_SAMPLE_IDENTIFIER have a fixed place after it.
inline constexpr std::uint64_t kCommonSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

// General and instruction registers, flags and segments that 64-bit code has (asm/perf_regs.h).
inline constexpr std::uint64_t kUserRegisters = 0xff0fff;
// The one of them that is in every sample: which stack a thread is on decides how it can be paused.
inline constexpr std::uint64_t kStackPointer = 1 << 7;

struct SamplingFields {
  Nanoseconds period_ns = kMillisecond;
  bool kernel = true;  // also while the thread is in the kernel
  unsigned call_chain_depth = 1;
  unsigned stack_bytes = 0;
};

// An event to be opened on every thread, present and future, whose records become VisitEvents with
// this tag. Progress points (breakpoint, uprobe, tracepoint) are armed by these.
struct VisitTemplate {
  // type, config, bp_*; the session adds sampling fields and clock. What it points to (the path of
  // a uprobe) must live as long as the session.
  perf_event_attr attr{};
  std::uint32_t tag = 0;
  std::string what;    // for messages: "breakpoint at main.c:12"
  std::string filter;  // tracepoint filter (PERF_EVENT_IOC_SET_FILTER), may be empty
};

// Common fields and clock on top of `attr`, disabled; type, config and exclusions stay.
perf_event_attr with_common_fields(perf_event_attr attr);

// Tasks, executable mappings, exec, and switches unless they are not wanted; owns the ring.
perf_event_attr bookkeeping_attr(bool switches = true);
perf_event_attr sampling_attr(const SamplingFields& fields);
perf_event_attr waking_attr(std::uint64_t tracepoint_id);
perf_event_attr visit_attr(const perf_event_attr& event);  // every hit is a record

// One SIGTRAP (si_code TRAP_PERF, si_perf_data = slot) when the thread has run `period_ns` more and
// is in user code; armed by EventFd::refresh(1). Linux 5.13.
perf_event_attr sigtrap_attr(Address slot, Nanoseconds period_ns);

}  // namespace causalctl::perf
