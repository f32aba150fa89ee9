// Reads the copies of registers and stacks that a BPF program makes (bpf/stack_copy.h), from the
// memory that both share. Pure, but for the sizes of maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "controller/base/fd.h"
#include "controller/perf/bpf/stack_copy.h"
#include "controller/perf/events.h"

struct bpf_map;  // of libbpf

namespace causalctl::perf {

// Of a sample with all registers, where these two are.
inline constexpr std::size_t kStackPointerPlace = 7, kInstructionPlace = 8;

class StackCopies {
 public:
  // All of it outlives this object. There are as many pieces for each ring.
  StackCopies(std::span<StackRing> rings, std::span<StackPiece> pieces)
      : rings_(rings), pieces_(pieces) {}

  // Appends the copies that came since the last call, as samples whose threads have no serials. Of
  // a stack `most_bytes` are wanted.
  void read(unsigned most_bytes, std::vector<SampleEvent>& into);

  // What has come since the last call, and the room that there is for it.
  struct Use {
    std::uint64_t copies = 0, pieces = 0;
    std::uint64_t room = 0;  // pieces, in the rings that were used
  };
  Use use();

 private:
  std::span<const StackPiece> pieces_of(std::size_t core) const;
  std::uint64_t read_copy(std::size_t core, std::uint64_t number, std::uint64_t end,
                          unsigned most_bytes, SampleEvent& sample) const;

  std::span<StackRing> rings_;
  std::span<StackPiece> pieces_;
  Use use_;
};

// The memory of a loaded program with stack_copy.bpf.h.
struct StackMemory {
  Mapping rings, pieces;

  StackCopies copies() const;
};
// Sets the sizes of its maps, before it is loaded. Returns the number of pieces for each core, a
// power of two, as `most` must be, and not above that. A core with fewer
// pieces than a copy may have copies nothing.
std::uint32_t size_stack_maps(bpf_map* rings, bpf_map* pieces, std::uint32_t most = STACK_PIECES);
StackMemory memory_of_stacks(bpf_map* rings, bpf_map* pieces);  // once it is loaded

}  // namespace causalctl::perf
