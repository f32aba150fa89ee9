// Samples of threads that leave their core, or that wake others, as BPF programs take them
// (bpf/leaving.bpf.h), and how often they do. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "controller/perf/bpf/leaving_record.h"
#include "controller/perf/events.h"
#include "controller/perf/stack_copies.h"

namespace causalctl::perf {

class LeavingSamples {
 public:
  LeavingSamples(StackCopies copies, std::span<LeavingSlot> slots);  // which outlive this object

  // Appends what came since the last call; its threads have no serials. Of a stack `most_bytes` are
  // wanted. Where there was no room, it is as if a switch was not drawn.
  void read(unsigned most_bytes, std::vector<SampleEvent>& into);

  // Makes fewer of a thread's switches (and wake-ups) at a place be sampled if there were more than
  // `most` since the last call, or than there is room for, and more if there were few. Call it
  // after read().
  void adapt(unsigned most);

 private:
  StackCopies copies_;
  std::span<LeavingSlot> slots_;
  std::vector<std::uint32_t> left_before_;  // LeavingSlot::left
};

}  // namespace causalctl::perf
