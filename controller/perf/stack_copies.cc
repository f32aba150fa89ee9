#include "controller/perf/stack_copies.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "controller/perf/attrs.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/kernel_time.h"

namespace causalctl::perf {
namespace {

// Of a core. Those of all take 150 MiB at most, up to 2,048 cores.
std::size_t pieces_of_each(std::size_t cores, std::size_t most) {
  constexpr std::size_t kAll = 1U << 15U, kFewest = 16;
  return std::min(most,
                  std::clamp<std::size_t>(std::bit_floor(kAll / cores), kFewest, STACK_PIECES));
}

}  // namespace

std::span<const StackPiece> StackCopies::pieces_of(std::size_t core) const {
  const std::size_t each = pieces_.size() / rings_.size();
  return pieces_.subspan(core * each, each);
}

void StackCopies::read(unsigned most_bytes, std::vector<SampleEvent>& into) {
  for (std::size_t core = 0; core < rings_.size(); ++core) {
    StackRing& ring = rings_[core];
    const std::uint64_t end = __atomic_load_n(&ring.written, __ATOMIC_ACQUIRE);
    std::uint64_t next = ring.read;
    if (next != end) use_.room += pieces_.size() / rings_.size();
    use_.pieces += end - next;
    while (next != end) {
      next = read_copy(core, next, end, most_bytes, into.emplace_back());
      ++use_.copies;
    }
    __atomic_store_n(&ring.read, end, __ATOMIC_RELEASE);
  }
}

// Returns the number of the piece after it.
std::uint64_t StackCopies::read_copy(std::size_t core, std::uint64_t number, std::uint64_t end,
                                     unsigned most_bytes, SampleEvent& sample) const {
  const auto pieces = pieces_of(core);
  const StackPiece& first = pieces[number % pieces.size()];
  sample.thread = {static_cast<Tid>(first.tid), 0};
  sample.time_ns = own_time(first.time_ns);
  sample.cpu = static_cast<std::uint32_t>(core);
  sample.tag = first.tag;
  sample.number = static_cast<std::int64_t>(first.number);
  sample.user.mask = kUserRegisters;
  sample.user.registers.assign(std::begin(first.registers), std::end(first.registers));
  sample.stack_pointer = first.registers[kStackPointerPlace];
  const auto frames = std::min<std::uint64_t>(first.frames, STACK_FRAMES);
  sample.kernel.assign(first.chain, first.chain + frames);
  auto& [mask, registers, stack, truncated, interrupted_pointer, interrupted] = sample.user;
  do {
    const StackPiece& piece = pieces[number % pieces.size()];
    const auto bytes = std::as_bytes(std::span(piece.stack)).first(piece.bytes);
    if (piece.from == sample.stack_pointer + stack.size()) {
      const auto wanted = bytes.first(std::min(bytes.size(), most_bytes - stack.size()));
      stack.insert(stack.end(), wanted.begin(), wanted.end());
    } else {
      if (interrupted.empty()) interrupted_pointer = piece.from;
      interrupted.insert(interrupted.end(), bytes.begin(), bytes.end());
    }
    ++number;
  } while (number != end && pieces[number % pieces.size()].tag == 0);
  truncated = stack.empty() || stack.size() == most_bytes;
  return number;
}

StackCopies::Use StackCopies::use() { return std::exchange(use_, {}); }

StackCopies StackMemory::copies() const {
  return {span_of<StackRing>(rings), span_of<StackPiece>(pieces)};
}

std::uint32_t size_stack_maps(bpf_map* rings, bpf_map* pieces, std::uint32_t most) {
  const std::size_t cores = all_cores();
  const std::size_t each = pieces_of_each(cores, most);
  set_map_size(rings, cores);
  set_map_size(pieces, cores * each);
  return static_cast<std::uint32_t>(each);
}

StackMemory memory_of_stacks(bpf_map* rings, bpf_map* pieces) {
  const auto memory = [](bpf_map* map, std::size_t size) {
    return memory_of_map(bpf_map__fd(map), bpf_map__max_entries(map) * size);
  };
  return {memory(rings, sizeof(StackRing)), memory(pieces, sizeof(StackPiece))};
}

}  // namespace causalctl::perf
