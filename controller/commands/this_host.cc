#include "controller/commands/this_host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/session/identity.h"

namespace causalctl::commands {

namespace {

// Each addition waits for the one before, which takes one cycle. The fastest of several runs is the
// one that nothing interrupted.
unsigned clock_mhz() {
  constexpr int kRuns = 20, kSteps = 5000, kAdditionsInStep = 8;
  Nanoseconds least_ns = kSecond;
  for (int run = 0; run < kRuns; ++run) {
    std::uint64_t sum = 0;
    const std::uint64_t one = 1;
    const Nanoseconds begin_ns = monotonic_now();
    for (int step = 0; step < kSteps; ++step) {
      __asm__ volatile(
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
          : "+r"(sum)
          : "r"(one)
          : "cc");
    }
    least_ns = std::min(least_ns, monotonic_now() - begin_ns);
  }
  constexpr Nanoseconds kCycles = kSteps * kAdditionsInStep;
  return static_cast<unsigned>(kCycles * 1000 / std::max<Nanoseconds>(1, least_ns));
}

}  // namespace

continuous::Host this_host() {
  utsname names{};
  uname(&names);
  continuous::Host host;
  host.name = session::host_name();
  host.kernel = names.release;
  const std::string info = procfs::read_text("/proc/cpuinfo").value_or("");
  if (const auto at = info.find("model name"); at != std::string::npos) {
    const auto begin = info.find(": ", at);
    host.processor = info.substr(begin + 2, info.find('\n', begin) - begin - 2);
  }
  host.clock_mhz = clock_mhz();
  host.cores = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_CONF));
  return host;
}

}  // namespace causalctl::commands
