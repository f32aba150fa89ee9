#include "controller/perf/kernel_time.h"

#include <sstream>
#include <string>

#include "controller/base/procfs.h"
#include "controller/base/restrictions.h"

namespace causalctl::perf {
namespace {

Nanoseconds offset_here() {
  if (in_first_namespace("time")) return 0;
  return parse_monotonic_offset(procfs::read_text("/proc/self/timens_offsets").value_or(""));
}

}  // namespace

Nanoseconds own_time(std::uint64_t kernel_ns) {
  static const Nanoseconds offset_ns = offset_here();
  return static_cast<Nanoseconds>(kernel_ns) + offset_ns;
}

Nanoseconds parse_monotonic_offset(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string clock;
  Nanoseconds seconds = 0;
  Nanoseconds nanoseconds = 0;
  while (lines >> clock >> seconds >> nanoseconds) {
    if (clock == "monotonic") return seconds * kSecond + nanoseconds;
  }
  return 0;
}

}  // namespace causalctl::perf
