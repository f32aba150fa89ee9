#include "tests/support/breakpoint.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "controller/base/facility.h"

namespace causalctl::test {
namespace {

[[gnu::noinline]] void called() { asm volatile("nop" ::: "memory"); }

}  // namespace

bool breakpoints_fire() {
  if (is_pretended_broken(Facility::breakpoint)) return false;
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = reinterpret_cast<std::uint64_t>(&called);
  attr.bp_len = sizeof(long);
  attr.exclude_kernel = 1;
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
  if (fd == -1) return false;
  called();
  std::uint64_t count = 0;
  const auto size = read(fd, &count, sizeof(count));
  close(fd);
  return size == sizeof(count) && count == 1;
}

}  // namespace causalctl::test
