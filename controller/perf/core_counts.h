// Counts samples of all cores by place in code, in the kernel: by a clock for each core, as
// core_sampling.h, whose BPF program adds to a table instead of keeping the sample. A sample costs
// the interrupt of its clock, and no record. DCPI has such a table in its driver (§4.2.1).
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/cores_online.h"
#include "controller/perf/event.h"
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

class CoreCounts {
 public:
  // Opens everything, disabled: of those of `processes` that are sampled at any time, or of all if
  // it is null. Throws Error with a hint.
  CoreCounts(std::shared_ptr<ProcessBits> processes, Nanoseconds period_ns, std::uint64_t seed);
  ~CoreCounts();

  void enable(bool on);
  // Sets the mean. Each core's own differs from it, and is drawn anew at each drain, so that
  // samples do not fall in with a pattern of what runs (§4.1.1).
  void set_period(Nanoseconds period_ns);
  bool cores_changed() const { return online_.changed(); }
  void reopen_cores();  // after that

  std::vector<CountedPlace> drain();
  // Samples since the last call that found no room in the table.
  std::uint64_t unplaced();

 private:
  struct Program;
  struct Core {
    EventFd event;
    std::size_t number;
  };

  void open_cores();
  void draw_periods();

  std::shared_ptr<ProcessBits> processes_;
  Nanoseconds period_ns_;
  std::mt19937_64 random_;
  CoresOnline online_;
  bool is_on_ = false;
  std::unique_ptr<Program> program_;
  std::vector<Core> cores_;
  std::uint64_t unplaced_told_ = 0;
};

// What one sample costs the thread whose code it interrupts, as measured here and now in some
// tenths of a second; 0 if that is too little to be measured. Throws Error if nothing can be
// sampled.
Nanoseconds measure_sample_cost();

}  // namespace causalctl::perf
