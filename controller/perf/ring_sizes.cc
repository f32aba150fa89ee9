#include "controller/perf/ring_sizes.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string>

#include "controller/base/procfs.h"
#include "controller/base/restrictions.h"

namespace causalctl::perf {
namespace {

constexpr std::size_t kMostStackPages = 512;
constexpr unsigned kFewestStackBytes = 512;

std::size_t unlimited_pages(std::size_t threads) {
  if (threads <= 16) return 128;
  if (threads <= 64) return 32;
  return threads <= 512 ? 8 : 4;
}

}  // namespace

std::size_t lockable_pages() {
  const std::string kernel = "/proc/sys/kernel/";
  if (has_machine_capability(CAP_IPC_LOCK)) return kAnyMemory;
  if (procfs::read_number(kernel + "perf_event_paranoid").value_or(2) < 0) return kAnyMemory;
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return kAnyMemory;
  const long per_core_kb = procfs::read_number(kernel + "perf_event_mlock_kb").value_or(0);
  const long cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  return limit.rlim_cur / kPageBytes +
         static_cast<std::size_t>(per_core_kb * cores) * 1024 / kPageBytes;
}

RingSizes ring_sizes(std::size_t threads, std::size_t lockable) {
  threads = std::max<std::size_t>(threads, 1);
  RingSizes sizes{static_cast<unsigned>(unlimited_pages(threads)), stack_ring_limit(threads)};
  if (lockable == kAnyMemory) return sizes;
  const std::size_t share = lockable / 4 * 3 / threads;
  const auto power_below = [](std::size_t pages) {
    return std::bit_floor(std::max<std::size_t>(pages, 1));
  };
  sizes.pages = static_cast<unsigned>(std::min<std::size_t>(sizes.pages, power_below(share / 3)));
  // Besides its data, each ring has a page that describes it.
  const std::size_t taken = std::min<std::size_t>(share, sizes.pages + 2);
  sizes.most_stack_pages = static_cast<unsigned>(
      std::min<std::size_t>(sizes.most_stack_pages, power_below(share - taken)));
  return sizes;
}

unsigned stack_ring_limit(std::size_t owners) {
  constexpr std::size_t kAll = 1U << 15U;  // pages of all: 128 MiB
  constexpr std::size_t kFewest = 16;
  return static_cast<unsigned>(std::clamp(std::bit_floor(kAll / std::max<std::size_t>(owners, 1)),
                                          kFewest, kMostStackPages));
}

// Gives room for some 16 samples between two readings. The kernel cannot map more than it has
// contiguous page lists for, and megabytes per thread would be a waste.
unsigned stack_ring_pages(unsigned stack_bytes, unsigned most) {
  constexpr unsigned kSamples = 16;
  return std::min<unsigned>(
      most, std::bit_ceil(kSamples * (stack_bytes + kSampleOtherBytes) / kPageBytes));
}

unsigned most_stack_bytes(std::size_t ring_bytes) {
  constexpr std::size_t kSamples = 8, kMost = 1U << 16U;
  const auto each = static_cast<unsigned>(std::min(kMost, ring_bytes / kSamples));
  return std::max(kFewestStackBytes, each - std::min(each, kSampleOtherBytes)) / 8 * 8;
}

}  // namespace causalctl::perf
