// Who ended the waits of one thread: sums of blocked time by the path that waited and the path that
// woke it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "controller/callpath/engine/waits.h"
#include "controller/callpath/record/call_tree.h"

namespace causalctl::callpath {

using WakerSums = std::map<std::pair<NodeId, NodeId>, std::uint64_t>;  // by waiter and waker

// The nodes that stand for wakers without a path.
struct WakersWithoutPath {
  NodeId outside = kRoot;      // Waker::unseen
  NodeId interrupt = kRoot;    // Waker::interrupt
  NodeId not_sampled = kRoot;  // a thread of the process, of which no path is known
  NodeId not_over = kRoot;     // nobody has ended the wait so far
};

class Wakers {
 public:
  void add(const Wait& wait);  // that is over, or goes on when all is told
  // Returns the sums, and begins anew. A waker whose path was not sampled is like the sampled ones
  // of the same waiting path, and waits whose path was not sampled are like the others of the
  // thread.
  WakerSums take(const WakersWithoutPath& nodes);

 private:
  struct Sums {
    std::map<NodeId, std::uint64_t> sampled;  // by the path of the waker
    std::uint64_t not_sampled = 0;
    std::uint64_t interrupt = 0;
    std::uint64_t outside = 0;
    std::uint64_t not_over = 0;
  };
  static std::uint64_t sum_of(const Sums& sums);
  // Adds the rows of one waiting path to `all`.
  static void put(NodeId path, const Sums& sums, const WakersWithoutPath& nodes, WakerSums& all);

  std::map<NodeId, Sums> by_path_;
  Sums without_path_;  // of waits whose path was not sampled
};

}  // namespace causalctl::callpath
