// Samples of threads that leave their core, as a BPF program takes them (bpf/leaving.bpf.h): reads
// them from the memory that both share, and sets how often they are taken. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "controller/perf/bpf/leaving_record.h"
#include "controller/perf/events.h"

namespace causalctl::perf {

class LeavingSamples {
 public:
  // All of it outlives this object. There are as many pieces for each ring.
  LeavingSamples(std::span<LeavingRing> rings, std::span<LeavingPiece> pieces,
                 std::span<LeavingSlot> slots);

  // Appends what came since the last call; its threads have no serials. Of a stack `most_bytes` are
  // wanted. Where there was no room, it is as if a switch was not drawn.
  void read(unsigned most_bytes, std::vector<SampleEvent>& into);

  // Makes fewer of a thread's switches at a place be sampled if there were more than `most` since
  // the last call, or than there is room for, and more if there were few. Call it after read().
  void adapt(unsigned most);

 private:
  std::span<const LeavingPiece> pieces_of(std::size_t core) const;
  std::uint64_t read_sample(std::size_t core, std::uint64_t number, std::uint64_t end,
                            unsigned most_bytes, SampleEvent& sample) const;

  std::span<LeavingRing> rings_;
  std::span<LeavingPiece> pieces_;
  std::span<LeavingSlot> slots_;
  std::vector<std::uint32_t> left_before_;  // LeavingSlot::left
  // Since adapt().
  std::uint64_t samples_ = 0, pieces_read_ = 0;
  std::size_t rings_used_ = 0;
};

}  // namespace causalctl::perf
