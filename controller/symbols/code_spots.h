// Which place in which file an address of the target is, at the time of each sample: what is
// unmapped and mapped again, there or elsewhere, is the same place, and a reused address is another
// one. Pure.
//
// A place counts from the beginning of its file. Code that is in no file is where its address is.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/symbols/mappings.h"
#include "controller/symbols/pieces.h"

namespace causalctl::symbols {

struct CodeSpot {
  std::uint32_t file = 0;  // 0: none, then `offset` is the address
  Address offset = 0;
  auto operator<=>(const CodeSpot&) const = default;
};

struct HashOfSpot {
  std::size_t operator()(const CodeSpot& spot) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return (spot.offset ^ (std::uint64_t{spot.file} << 40U)) * kOdd >> 7U;
  }
};

class CodeSpots final : public MappingFollower {
 public:
  void take(const std::vector<procfs::Map>& maps) override {
    pieces_.clear();
    for (const procfs::Map& map : maps) {
      if (map.executable) put(map, 0);
    }
  }
  void mapped(const perf::MapEvent& event) override { put(line_of(event), event.generation); }
  void unmap_all() override { pieces_.clear(); }

  CodeSpot at(Address address) const {
    const Pieces::Piece* piece = pieces_.find(address);
    return piece == nullptr ? CodeSpot{0, address} : CodeSpot{piece->file, address - piece->bias};
  }

 private:
  // Device, inode, its generation (0 if it is not known), path.
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string>;

  void put(const procfs::Map& map, std::uint64_t generation) {
    if (map.end <= map.start) return;
    if (map.inode == 0) return pieces_.put(map.start, {map.end, 0, 0});
    const auto next = static_cast<std::uint32_t>(files_.size() + 1);
    const auto file =
        files_.try_emplace({map.device, map.inode, generation, map.path}, next).first->second;
    pieces_.put(map.start, {map.end, file, map.start - map.offset});
  }

  Pieces pieces_;
  std::map<FileKey, std::uint32_t> files_;
};

}  // namespace causalctl::symbols
