// Counts samples of all cores by place in code, in the kernel: by a clock for each core, as
// core_sampling.h, whose BPF program adds to a table instead of keeping the sample. A sample costs
// the interrupt of its clock, and no record. DCPI has such a table in its driver (§4.2.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/core_clocks.h"
#include "controller/perf/process_bits.h"

namespace causalctl::perf {

// Samples of one place since the drain before.
struct CountedPlace {
  std::string build_id;  // of the file, in hexadecimal; empty if the kernel did not tell
  bool in_kernel = false;
  Address address = 0;  // an offset in the file if there is a build-id; otherwise one in memory
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;  // that they stand for
  // Where and in which process the latest of them was.
  Pid process = 0;
  Address latest = 0;
};

struct CountingOptions {
  Nanoseconds period_ns = kMillisecond;  // from one sample of a core to the next, on average
  std::uint64_t seed = 1;
  std::uint32_t most_places = 1U << 12U;  // between two drains
  // Children of the processes are sampled from their birth on, where the kernel's numbers of
  // processes are ours.
  bool children = false;
};

class CoreCounts {
 public:
  // Opens everything, disabled: of those of `processes` that are sampled at any time, or of all if
  // it is null. Throws Error with a hint.
  CoreCounts(std::shared_ptr<ProcessBits> processes, const CountingOptions& options);
  ~CoreCounts();

  void enable(bool on);
  bool cores_changed() const { return clocks_.cores_changed(); }
  void reopen_cores();  // after that

  std::vector<CountedPlace> drain();
  // Samples since the last call that found no room in the table.
  std::uint64_t unplaced();

 private:
  struct Program;

  void open_cores();
  void tell_periods();

  std::shared_ptr<ProcessBits> processes_;
  Nanoseconds period_ns_;
  std::uint64_t seed_;
  bool is_on_ = false;
  std::unique_ptr<Program> program_;
  CoreClocks clocks_;
  std::uint64_t unplaced_told_ = 0;
};

// What one sample costs the thread whose code it interrupts, as measured here and now in some
// tenths of a second; 1 µs if it is less. Throws Error if nothing can be sampled.
Nanoseconds measure_sample_cost();

}  // namespace causalctl::perf
