// Chooses which words of the stacks are watched for the returns of calls (lives.h). Pure.
//
// A call has its return address in one word of its thread's stack. Calls of one place in the
// program, on one path, mostly have it in the same word: where the callers' frames are the same,
// so is their size. So the samples of some seconds tell which words are worth watching, and on
// which path the calls are that return by them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/call_tree.h"
#include "unwind/chain.h"

namespace causalctl::callpath {

struct LifeTarget {
  ThreadId thread;
  Address slot = 0;  // of the return address
  Address back = 0;  // the return address
  auto operator<=>(const LifeTarget&) const = default;
};

// Calls that are made at one place of the program, on one path.
struct LifePlace {
  NodeId call = kRoot;              // the path down to the call
  std::vector<LifeTarget> targets;  // which nearly all of its calls have
  double covered = 0;               // share of the samples of such calls that have one of these
  double under_way = 1;             // share of all moments at which a thread of them is seen in one
};

class LifeSurvey {
 public:
  // `node` is the end of the chain's path in the tree.
  void take(ThreadId thread, const unwind::Chain& chain, NodeId node, const CallTree& tree);

  void thread_ended(ThreadId thread);
  std::uint64_t samples() const { return samples_; }
  // Returns the places that most samples have, with so many targets at most, all together. Leaves
  // out calls that are under way in all samples of their thread or in less than a tenth, and those
  // whose targets have calls of other paths as well. A thread that was always on a core has as many
  // samples as there were `moments`.
  std::vector<LifePlace> places(std::size_t most_targets, double moments) const;

 private:
  std::uint64_t samples_ = 0;
  std::map<ThreadId, std::uint64_t> of_thread_;
  std::map<LifeTarget, std::map<NodeId, std::uint64_t>> seen_;
};

}  // namespace causalctl::callpath
