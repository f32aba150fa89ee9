// How much longer a thread takes for its own work because of a sample: measured on a thread of
// ours, with the event of a session. In it are the interrupt, what a hypervisor adds to that, the
// copy of the stack, and what the sample displaces from the caches. It is known much sooner, and
// better, than by how much a program whose rate varies gets slower.
//
// The thread does the same small piece of work again and again, in 256 KiB of memory, and notes its
// CPU time after each, in which the time for which other threads had the core is not. The pieces
// that begin with a sample, 0.1 ms of work, are compared with as many before it. Samples come at
// other moments than the ticks of the kernel, so that ticks are in both.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/perf/attrs.h"

namespace causalctl::perf {

// Samples the calling thread about every millisecond, whatever the period of `fields`. Returns the
// mean time that a sample takes, in nanoseconds, with its 95 % interval; nullopt if too few came,
// or the event cannot be opened. REQUIRES: as try_sample().
std::optional<Interval> time_of_sample(const SamplingFields& fields, std::size_t samples);

// A piece of work: when it was done, and the CPU time that the thread had used by then.
struct Piece {
  Nanoseconds end_ns = 0;
  Nanoseconds cpu_ns = 0;
};

// Returns the mean excess of the pieces that begin with a sample, with its 95 % interval (Student's
// t). What differs from the median by more than ten times the usual holds something else. nullopt:
// there are fewer than ten. Both are in time order. Pure.
std::optional<Interval> excess_by_samples(std::span<const Piece> pieces,
                                          std::span<const Nanoseconds> samples_ns);

}  // namespace causalctl::perf
