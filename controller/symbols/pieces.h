// Which file is mapped at which addresses: ranges that do not overlap, of which a new one cuts what
// was there. Pure.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "controller/base/types.h"

namespace causalctl::symbols {

class Pieces {
 public:
  struct Piece {
    Address end = 0;
    std::uint32_t file = 0;  // a number that the owner gives
    Address bias = 0;        // address at run time - place in the file, as the owner counts it
  };

  void put(Address start, const Piece& piece) {
    auto next = by_start_.lower_bound(start);
    if (next != by_start_.begin()) {
      const auto before = std::prev(next);
      if (const Piece old = before->second; old.end > start) {
        before->second.end = start;
        if (old.end > piece.end) by_start_.insert({piece.end, old});
      }
    }
    while (next != by_start_.end() && next->first < piece.end) {
      const Piece old = next->second;
      next = by_start_.erase(next);
      if (old.end > piece.end) next = by_start_.insert({piece.end, old}).first;
    }
    by_start_[start] = piece;
  }

  // Returns nullptr if nothing is mapped there. The pointer is valid until the next change.
  const Piece* find(Address address) const {
    const auto after = by_start_.upper_bound(address);
    if (after == by_start_.begin()) return nullptr;
    const Piece& piece = std::prev(after)->second;
    return address < piece.end ? &piece : nullptr;
  }

  void clear() { by_start_.clear(); }
  const std::map<Address, Piece>& all() const { return by_start_; }  // by start

 private:
  std::map<Address, Piece> by_start_;
};

}  // namespace causalctl::symbols
