#include "controller/perf/signal_state.h"

#include <cpuid.h>

#include <algorithm>

namespace causalctl::perf {
namespace {

constexpr std::uint32_t kLegacy = 512;      // without XSAVE: as FXSAVE has it
constexpr std::uint32_t kXsaveHeader = 64;  // behind that
constexpr std::uint32_t kEndMark = 4;       // FP_XSTATE_MAGIC2_SIZE
constexpr unsigned kStateLeaf = 0xd;        // of CPUID
constexpr unsigned kFirstExtended = 2;      // the first two parts are in the legacy area
constexpr unsigned kTiles = 18;             // AMX: a part that a thread must ask for
constexpr unsigned kParts = 63;

// The parts that the kernel has enabled (XCR0).
std::uint64_t enabled_parts() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | std::uint64_t{high} << 32U;
}

// In the standard format: each part has its place, whichever others there are (Intel's manual,
// volume 1, §13.4.3).
std::uint32_t size_with(std::uint64_t parts) {
  std::uint32_t size = kLegacy + kXsaveHeader;
  for (unsigned part = kFirstExtended; part < kParts; ++part) {
    unsigned bytes = 0, place = 0, flags = 0, unused = 0;
    if ((parts >> part & 1U) == 0 ||
        __get_cpuid_count(kStateLeaf, part, &bytes, &place, &flags, &unused) == 0) {
      continue;
    }
    size = std::max(size, place + bytes);
  }
  return size + kEndMark;
}

}  // namespace

std::array<std::uint32_t, 2> signal_state_sizes() {
  unsigned unused = 0, features = 0;
  const bool has_xsave =
      __get_cpuid(1, &unused, &unused, &features, &unused) != 0 && (features & bit_OSXSAVE) != 0;
  if (!has_xsave) return {kLegacy, kLegacy};
  const std::uint64_t parts = enabled_parts();
  return {size_with(parts & ~(std::uint64_t{1} << kTiles)), size_with(parts)};
}

}  // namespace causalctl::perf
