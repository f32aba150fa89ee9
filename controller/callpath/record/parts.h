// Cuts a recording into parts of equal time, from how its values have grown. How much the parts
// differ tells how alike samples of one moment are, and so how certain a sum over all of them is
// (method of batch means). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

class Parts {
 public:
  // There are no more than this many; then each two become one.
  static constexpr std::size_t kMost = 30;

  // Adds what a value has grown by since the last call of until().
  void add(const SliceKey& key, NodeId node, std::uint64_t value);
  // Says up to when values were added, since the start of the run.
  void until(Nanoseconds time_ns);
  // Returns the parts in the order of time. A rest that is short belongs to the last one.
  std::vector<Part> take();

 private:
  void join_pairs();

  std::vector<Part> parts_;
  Part open_;
  Nanoseconds length_ns_ = kSecond;  // of a part
};

}  // namespace causalctl::callpath
