// What signals have interrupted, where handlers run on stacks of their own (sigaltstack(2)). With a
// sample the kernel copies the handler's stack only, and when the sample is read the handler may be
// over. So a BPF program copies the other stack in the interrupt of the sample.
#pragma once

#include <memory>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/perf/interrupted_copies.h"
#include "controller/perf/process_bits.h"

namespace causalctl::perf {

class InterruptedStacks {
 public:
  // Loads the program, and tries whether it may be run at a sample. Throws Error with a hint. The
  // processes are those whose samples the program of a core keeps.
  explicit InterruptedStacks(const ProcessBits& processes);
  ~InterruptedStacks();

  // For EventFd::set_program() of a software event that samples a core, or a thread.
  int program_of_core() const;
  int program_of_thread() const;

  // Reads what was copied until now.
  void read();
  InterruptedCopies& copies() { return copies_; }

 private:
  struct Program;
  std::unique_ptr<Program> program_;
  InterruptedCopies copies_;
};

}  // namespace causalctl::perf
