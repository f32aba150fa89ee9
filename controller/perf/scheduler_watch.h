// Follows switches and wake-ups of processes by BPF programs on the scheduler's tracepoints
// (bpf/scheduler.bpf.c), for all of their threads, present and future, through a buffer for each
// core. Threads that leave their core, and those that wake others, are sampled, too, if that is
// wanted (leaving_samples.h).
//
// Perf events of a thread tell the same, but the kernel takes them off the core and puts them on
// again at each switch. docs/lab/2026-11.md has what both cost a server that switches 35,000 times
// a second.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/perf/process_bits.h"

namespace causalctl::perf {

// A thread has left a core to another one. The number of a thread whose process is not watched is
// 0.
struct CoreSwitch {
  Nanoseconds time_ns = 0;
  std::uint32_t cpu = 0;
  Tid left = 0;
  bool blocked = false;     // `left` goes to sleep; otherwise it still wants to run
  std::uint16_t place = 0;  // SwitchEvent::place of `left`
  Tid came = 0;
};

struct CoreWaking {  // by a thread of a watched process
  Nanoseconds time_ns = 0;
  Tid waker = 0;
  Tid woken = 0;  // any thread of the machine
  WakeContext context = WakeContext::task;
};

struct SchedulerRecords {  // core by core, and of each core nearly in the order of time
  std::vector<CoreSwitch> switches;
  std::vector<CoreWaking> wakings;
  std::vector<SampleEvent> samples;  // their threads have no serials
  std::uint64_t lost = 0;            // for want of room
};

class SchedulerWatch {
 public:
  struct Wanted {
    bool wakings = true;
    bool leaving = false;       // there can be samples
    bool wakers = false;        // and of wake-ups, between sampled processes; needs `leaving`
    bool kernel_chain = false;  // with SampleEvent::kernel
    bool children = false;      // those of a watched process are watched from their birth on
  };
  // Loads the programs. Nothing is recorded before start(), and nothing that is not wanted. Throws
  // Error with a hint if that is not possible here: without CAP_BPF and CAP_PERFMON, without BTF in
  // the kernel, or in a pid namespace other than the initial one.
  explicit SchedulerWatch(const Wanted& wanted);
  ~SchedulerWatch();
  SchedulerWatch(SchedulerWatch&&) noexcept;
  SchedulerWatch& operator=(SchedulerWatch&&) noexcept;

  void start();  // throws Error
  // Those whose threads are followed from now on, with the threads that they create.
  const std::shared_ptr<ProcessBits>& processes() const;
  void take_children();  // from now on; REQUIRES: that was wanted

  // From now on takes samples, with so much of the stack, of threads that leave their core and, if
  // that was wanted, of those that wake others, in the sampled processes. 0 bytes: no samples.
  // REQUIRES: samples were wanted.
  void sample_leaving(unsigned stack_bytes);
  void adapt_leaving(unsigned most);  // as LeavingSamples::adapt()

  // Returns what was recorded since the last call.
  SchedulerRecords read();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::perf
