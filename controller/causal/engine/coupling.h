// Which threads wait for each other, so that all of them gain in part by what one saves where
// strangers share the cores (share_effect.h). Pure.
//
// Thread X depends on Y if it waits for Y: it then needs no more CPU time than Y lets it use, and
// leaves to others what it saves. A thread that waits for nobody uses what it gets. So what matters
// to a thread that passes progress points is in those that it waits for, directly or through
// others, and in those that wait for one of these or for itself.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::causal {

class Coupling {
 public:
  // `waker` has ended a wait of `waiter`; both threads are known.
  void waited(Tid waiter, Tid waker, Nanoseconds wait_ns);

  struct Member {
    Tid thread = 0;
    Nanoseconds ran_ns = 0;  // since the last call
    bool visits = false;     // it passes progress points
  };
  // Returns the threads that are coupled with those that pass progress points, by what they waited
  // for since the last call. Returns none if the latter form several groups that do not wait for
  // each other, because what one group saves does not help the points of another.
  std::unordered_set<Tid> take(const std::vector<Member>& members);

 private:
  using Edges = std::unordered_map<Tid, std::vector<Tid>>;

  // Leads from each thread that depends on others to the threads that it waits for.
  Edges dependences(const std::vector<Member>& members) const;

  std::unordered_map<Tid, std::unordered_map<Tid, Nanoseconds>> waits_;  // [waiter][waker]
};

}  // namespace causalctl::causal
