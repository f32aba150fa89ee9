#include "controller/progress/visit_cost.h"

#include <linux/hw_breakpoint.h>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::progress {
namespace {

constexpr int kHits = 200;

__attribute__((noinline, aligned(64))) void visited() { __asm__ volatile(""); }

}  // namespace

Nanoseconds measure_visit_cost() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = reinterpret_cast<Address>(&visited);
  attr.bp_len = sizeof(long);
  attr.exclude_kernel = 1;
  try {
    const auto event = perf::EventFd::open(perf::visit_attr(attr), 0, "breakpoint on ourselves");
    if (!event) return 0;
    event->enable();
    const Nanoseconds start_ns = monotonic_now();
    for (int i = 0; i < kHits; ++i) visited();
    return (monotonic_now() - start_ns) / kHits;
  } catch (const Error&) {  // no register is free, or no permission: arm() will say so
    return 0;
  }
}

}  // namespace causalctl::progress
