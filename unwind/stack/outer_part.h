// The outer parts of deep stacks, as walks have found them. While a recursion is deep, the frames
// far out stay as they are, and a walk of each sample through thousands of them would take
// milliseconds. So a walk that comes to a frame which one before it has found there goes on as that
// did, if all of the stack from there on still has the bytes that it had.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "unwind/stack/chain.h"
#include "unwind/stack/frame_steps.h"

namespace causalctl::unwind {

struct OuterFrame {
  FramePosition at;
  UnwoundFrame frame;
};

class OuterParts {
 public:
  explicit OuterParts(Pid target) : target_(target) {}

  // Returns the frames from the one at `at` outwards, that one first; none if they are not known or
  // may have changed. Valid until the next call of keep() or clear().
  std::span<const OuterFrame> find(const FramePosition& at);
  // Keeps the outer part of a walk that ended at the outermost frame, which is the last.
  void keep(std::vector<OuterFrame> frames);
  void clear() { parts_.clear(); }

 private:
  struct Part {
    std::vector<OuterFrame> frames;  // with rising stack pointers
    std::vector<std::byte> stack;    // from that of the first frame on
  };

  Pid target_;
  std::vector<Part> parts_;  // the latest is the last
  std::vector<std::byte> now_;
};

}  // namespace causalctl::unwind
