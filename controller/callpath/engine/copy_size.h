// How much of a stack is copied with a sample: more where stacks are deep, until records are lost
// by it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "unwind/stack/chain.h"

namespace causalctl::callpath {

class CopySize {
 public:
  static constexpr unsigned kUsual = 32 * 1024;
  static constexpr unsigned kDeep = 60 * 1024;  // almost as much as a record holds

  explicit CopySize(bool may_grow) : may_grow_(may_grow) {}

  // The chain of a sample of CPU time with which so many bytes were copied.
  void take(const unwind::Chain& chain, std::size_t bytes);
  // Once in a while, for the chains since the last time. `lost`: records, so far. Returns the size
  // to change to, if any.
  std::optional<unsigned> choose(std::uint64_t lost, bool has_room);

 private:
  bool may_grow_;
  bool is_deep_ = false;
  std::uint64_t sampled_ = 0;
  std::uint64_t cut_ = 0;  // of these: the chain ended where the copy did
  std::uint64_t lost_before_ = 0;
};

}  // namespace causalctl::callpath
