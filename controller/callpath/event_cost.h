// What events may cost whose every occurrence costs something, whether it is sampled or not: a
// uprobe's trap. Pure.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::callpath {

// Lets events happen in bursts, so that on average they cost a thread at most a share of its time.
// A burst ends when it has cost kBurst more than was allowed up to then, and the next one begins
// when the average is kept again. Events that are rare enough are never interrupted.
class CostBudget {
 public:
  static constexpr Nanoseconds kBurst = 10 * kMillisecond;

  // Each event costs its thread `cost_ns`; 0: next to nothing, so that there are no bursts.
  CostBudget(Nanoseconds cost_ns, double most_share) : cost_ns_(cost_ns), most_(most_share) {}

  // `hits` more events have happened in the busiest thread, and it is `time_ns` since the start.
  // `may_begin`: a burst may begin now. Returns whether the events may go on, or begin again.
  bool may_go_on(std::uint64_t hits, Nanoseconds time_ns, bool may_begin = true);

  bool was_interrupted() const { return interrupted_; }
  double open_share() const;       // of the time so far
  double hits_per_second() const;  // while they were open

 private:
  Nanoseconds cost_ns_;
  double most_;
  bool open_ = true;
  bool interrupted_ = false;
  std::uint64_t hits_ = 0;
  Nanoseconds last_ns_ = 0;
  Nanoseconds open_ns_ = 0;
};

}  // namespace causalctl::callpath
