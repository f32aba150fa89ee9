// Makes the perf_event_attr of every event that the session or the pause channel opens. Pure.
//
// All events carry the same common fields, PERF_SAMPLE_IDENTIFIER first, and the same clock, so
// that they may share a ring and their records can be told apart by id. Source: perf_event_open(2).
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "controller/base/types.h"

namespace causalctl::perf {

// These fields are in every record of every event. All but PERF_SAMPLE_IDENTIFIER are at a fixed
// place after it.
inline constexpr std::uint64_t kCommonSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

// The registers that 64-bit code has: general ones, instruction pointer, flags, segments
// (asm/perf_regs.h).
inline constexpr std::uint64_t kUserRegisters = 0xff0fff;
// This one is in every sample: which stack a thread is on decides how it can be paused.
inline constexpr std::uint64_t kStackPointer = 1 << 7;

struct SamplingFields {
  Nanoseconds period_ns = kMillisecond;
  bool kernel = true;         // samples the thread in the kernel, too
  bool kernel_chain = false;  // with the kernel's part of the path; means nothing without `kernel`
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
  std::string what;  // for messages: "breakpoint at main.c:12"
};

// Common fields and clock on top of `attr`, disabled; type, config and exclusions stay.
perf_event_attr with_common_fields(perf_event_attr attr);

// Owns the ring. It records tasks, executable mappings and exec, and switches if they are wanted.
perf_event_attr bookkeeping_attr(bool switches = true);
// Owns a ring, and records from its opening on nothing but switches, if a thread's own clock must
// know them (throttling.h).
perf_event_attr ring_attr(bool switches);
perf_event_attr sampling_attr(const SamplingFields& fields);
// A sample with registers and stack whenever the thread leaves its core, just before the record of
// that switch. `every`: of how many switches one is sampled. `kernel_chain`: with the kernel's part
// of the path.
perf_event_attr leaving_attr(unsigned stack_bytes, std::uint64_t every, bool kernel_chain = false);
// The most stack of such a sample. sendmsg(2) is called with 16 KB of vectors on the stack by some.
// A thread that waits is there to be read if its stack is deeper.
inline constexpr unsigned kLeavingStackBytes = 24 * 1024;
perf_event_attr waking_attr(std::uint64_t tracepoint_id);
perf_event_attr breakpoint_attr(Address address);          // at an instruction
perf_event_attr tracepoint_attr(std::uint64_t id);         // of the kernel
perf_event_attr visit_attr(const perf_event_attr& event);  // makes every hit a record

// Sends one SIGTRAP (si_code TRAP_PERF, si_perf_data = slot) when the thread has run `period_ns`
// more and is in user code. EventFd::refresh(1) arms it. It needs Linux 5.13.
perf_event_attr sigtrap_attr(Address slot, Nanoseconds period_ns);

}  // namespace causalctl::perf
