// How large the rings of threads and cores are, and how much stack the samples in them have.
//
// The memory of rings is locked. A user without CAP_IPC_LOCK may lock perf_event_mlock_kb for each
// core, and RLIMIT_MEMLOCK more (perf_mmap() of kernel/events/core.c). Each thread needs a part.
#pragma once

#include <cstddef>
#include <limits>

namespace causalctl::perf {

constexpr std::size_t kAnyMemory = std::numeric_limits<std::size_t>::max();

// Returns how many pages we may lock for rings, as far as others have locked none; kAnyMemory if
// there is no limit.
std::size_t lockable_pages();

struct RingSizes {
  // Of the ring of each thread. A thread that blocks and wakes another 50,000 times a second writes
  // 12 MB: 512 KiB outlast a controller that is 40 ms late.
  unsigned pages = 0;
  unsigned most_stack_pages = 0;  // of its ring for samples with stacks, at most
};

// Returns the sizes with which the rings of `threads` take at most `lockable` pages; a quarter of
// these is left to threads that are still to come. Each ring has at least one page. Pure.
RingSizes ring_sizes(std::size_t threads, std::size_t lockable);

// Returns the most pages that the ring for samples with stacks has in each of so many threads or
// cores, if memory may be locked without limit. Pure.
unsigned stack_ring_limit(std::size_t owners);

// Returns how many pages such a ring has, if they are at most `most`. Pure.
unsigned stack_ring_pages(unsigned stack_bytes, unsigned most);

// Returns how much stack samples may have if there is room for eight of them, of what a thread that
// runs all the time has between two readings. A multiple of 8, and never 0. Pure.
unsigned most_stack_bytes(std::size_t ring_bytes);

constexpr std::size_t kPageBytes = 4096;
constexpr unsigned kSampleOtherBytes = 1024;  // of a sample, besides the stack

}  // namespace causalctl::perf
