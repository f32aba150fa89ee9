// Counts the system calls of processes by their numbers, whichever thread makes them: a BPF program
// at the entry of all calls of the machine, which costs a call some 0.1 µs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "controller/perf/process_bits.h"

namespace causalctl::perf {

class CallCounts {
 public:
  // Counts from now on, in those of `processes` that are sampled. Throws Error with a hint if BPF
  // is not permitted, or the kernel does not describe its types.
  explicit CallCounts(std::shared_ptr<ProcessBits> processes);
  ~CallCounts();
  CallCounts(const CallCounts&) = delete;
  CallCounts& operator=(const CallCounts&) = delete;

  std::map<long, std::uint64_t> counts() const;  // by number; calls that were not made are left out

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace causalctl::perf
