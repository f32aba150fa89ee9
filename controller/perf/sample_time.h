// How much longer a thread takes for its own work because of a sample: measured on a thread of
// ours, with the event of a session. In it are the interrupt, what a hypervisor adds to that, the
// copy of the stack, and what the sample displaces from the caches; not what the event costs at a
// switch. It is known much sooner, and better, than by how much a program whose rate varies gets
// slower.
//
// The thread does the same small piece of work again and again, in 256 KiB of memory, and notes the
// time after each. The pieces that begin with a sample, 0.1 ms of work, are compared with as many
// before it, unless another thread had the core meanwhile. Samples come at other moments than the
// ticks of the kernel, so that ticks are in both.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/perf/attrs.h"

namespace causalctl::perf {

// Samples the calling thread about every millisecond, whatever the period of `fields`, and not in
// the kernel if it may not. Returns the mean time that a sample takes, in nanoseconds and at least
// 0, with its 95 % interval; nullopt if too few came in a few times as long, or the event cannot be
// opened. REQUIRES: as try_sample().
std::optional<Interval> time_of_sample(SamplingFields fields, std::size_t samples);

// What the thread did, all in time order.
struct Worked {
  std::vector<Nanoseconds> ends_ns;  // of the pieces
  std::vector<Nanoseconds> samples_ns;
  std::vector<Nanoseconds> switches_ns;  // to another thread
};

// Returns by how much longer the pieces took that begin with a sample, for each sample of which
// this can be told. Pure.
std::vector<double> excess_by_samples(const Worked& worked);

// Returns the mean and its 95 % interval (Student's t), none below 0. What differs from the median
// by more than ten times the usual counts as so much: the machine has stalled. nullopt: there are
// fewer than ten. Pure.
std::optional<Interval> mean_excess(std::span<const double> excess_ns);

}  // namespace causalctl::perf
