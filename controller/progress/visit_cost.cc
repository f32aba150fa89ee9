#include "controller/progress/visit_cost.h"

#include <linux/hw_breakpoint.h>

#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/statistics.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::progress {
namespace {

constexpr int kBatches = 25;  // their median: a stall of the machine spoils one
constexpr int kHits = 10;

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
    std::vector<double> batches_ns;
    for (int batch = 0; batch < kBatches; ++batch) {
      const Nanoseconds start_ns = monotonic_now();
      for (int i = 0; i < kHits; ++i) visited();
      batches_ns.push_back(static_cast<double>(monotonic_now() - start_ns) / kHits);
    }
    return static_cast<Nanoseconds>(statistics::median(batches_ns));
  } catch (const Error&) {  // no register is free, or no permission: arm() will say so
    return 0;
  }
}

}  // namespace causalctl::progress
