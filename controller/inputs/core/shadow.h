// A shadow memory: a time stamp for each cell of an address space (input-sensitive profiling, §5,
// "Shadow memories"). Of its three levels of tables only the parts are allocated whose memory was
// touched: 2^19 regions of 256 MB, each of 4,096 chunks of 64 KB. A stamp of 0 means "never".
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/inputs/core/memory.h"

namespace causalctl::inputs::core {

using Stamp = std::uint32_t;

inline constexpr unsigned kAddressBits = 47;  // of a process on x86-64
inline constexpr unsigned kChunkBits = 16;
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << kChunkBits;

template <class Memory>
class Shadow {
 public:
  // `cell_bits`: the binary logarithm of a cell's size in bytes, 0 to 4.
  explicit Shadow(unsigned cell_bits) : chunk_cells_(std::size_t{1} << (kChunkBits - cell_bits)) {}
  ~Shadow() { clear(); }
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // Returns the stamps of the chunk that has the address, or nullptr where there is no memory.
  Stamp* chunk(std::uint64_t address) {
    if (address >> kAddressBits != 0) return nullptr;
    if (regions_ == nullptr) {
      regions_ = static_cast<Stamp***>(Memory::allocate(kRegions * sizeof(Stamp**)));
      if (regions_ == nullptr) return nullptr;
    }
    Stamp**& region = regions_[address >> (kChunkBits + kRegionBits)];
    if (region == nullptr) {
      region = static_cast<Stamp**>(tables_.allocate(kRegionChunks * sizeof(Stamp*)));
      if (region == nullptr) return nullptr;
    }
    Stamp*& cells = region[(address >> kChunkBits) % kRegionChunks];
    if (cells == nullptr) cells = new_chunk(address & ~(kChunkBytes - 1));
    return cells;
  }

  // Returns the same, but nullptr where no stamp was ever asked for.
  Stamp* chunk_if_there(std::uint64_t address) const {
    if (regions_ == nullptr || address >> kAddressBits != 0) return nullptr;
    Stamp** region = regions_[address >> (kChunkBits + kRegionBits)];
    return region == nullptr ? nullptr : region[(address >> kChunkBits) % kRegionChunks];
  }

  // Forgets all stamps.
  void clear() {
    if (regions_ != nullptr) Memory::release(regions_, kRegions * sizeof(Stamp**));
    regions_ = nullptr;
    tables_.clear();
    cells_.clear();
    chunks_.clear();
  }

  struct Chunk {
    std::uint64_t base;  // the lowest address
    Stamp* cells;
  };
  const List<Memory, Chunk>& chunks() const { return chunks_; }
  std::size_t chunk_cells() const { return chunk_cells_; }

 private:
  static constexpr unsigned kRegionBits = 12;
  static constexpr std::size_t kRegionChunks = std::size_t{1} << kRegionBits;
  static constexpr std::size_t kRegions = std::size_t{1}
                                          << (kAddressBits - kChunkBits - kRegionBits);

  Stamp* new_chunk(std::uint64_t base) {
    auto* cells = static_cast<Stamp*>(cells_.allocate(chunk_cells_ * sizeof(Stamp)));
    if (cells == nullptr || !chunks_.push({base, cells})) return nullptr;
    return cells;
  }

  std::size_t chunk_cells_;
  Stamp*** regions_ = nullptr;
  Arena<Memory> tables_;
  Arena<Memory> cells_;
  List<Memory, Chunk> chunks_;
};

}  // namespace causalctl::inputs::core
