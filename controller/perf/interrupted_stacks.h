// What signals have interrupted whose handlers run on stacks of their own (sigaltstack(2)). With a
// sample the kernel copies the handler's stack only, and when the sample is read the handler may be
// over. So a BPF program copies the other one while the thread stands still.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/perf/process_bits.h"

namespace causalctl::perf {

class InterruptedStacks {
 public:
  // Loads the program. Throws Error with a hint. The processes are those whose samples the program
  // of a core keeps.
  explicit InterruptedStacks(const ProcessBits& processes);
  ~InterruptedStacks();

  // For EventFd::set_program() of a software event that samples a core, or a thread.
  int program_of_core() const;
  int program_of_thread() const;

  // Reads what was copied until now. REQUIRES: all samples were read before, or are given later.
  void read();
  bool empty() const { return copies_.empty(); }
  // Completes a sample if it has a copy. Those of a thread come in the order of time.
  void give(SampleEvent& sample);
  void forget(Nanoseconds older_than_ns);

 private:
  struct Program;
  std::unique_ptr<Program> program_;
  std::vector<SampleEvent> read_;                   // kept for its memory
  std::map<Tid, std::vector<SampleEvent>> copies_;  // by time
};

}  // namespace causalctl::perf
