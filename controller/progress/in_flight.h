// Requests in flight between the begin and the end of a latency, by which its mean is known without
// pairs of begin and end (Little's law: the mean number in flight over the rate of ends). Pure.
//
// Only begins − ends is seen. Two things of it cannot be known from counts alone:
//   - how many requests were in flight when counting began. It is known from the moment on in which
//     none was in flight. Such a moment is taken to be seen where, at the lowest level so far,
//     nothing begins or ends for several times the usual interval between two begins.
//   - whether a begin that has no end yet is still to end. If begins exceed ends steadily, requests
//     never end (they were cancelled, or pass no end on their way out), or pile up. Then each level
//     is compared with the lowest that still follows: what is never taken away again is not in
//     flight.
// Both make the latency too short rather than too long, by at most the fewest requests that are
// ever in flight at once, over the rate.
//
// An end that comes while nothing is in flight is of no begin. If ends exceed begins steadily,
// there are such ends (a request that is refused, another way to the same end). One that comes
// while others are in flight cannot be told from theirs, until they are one fewer than their ends:
// each level is compared with the lowest that came before. So the latency is at most the true one,
// whenever those ends come.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/base/types.h"
#include "controller/base/unpaired_share.h"

namespace causalctl::progress {

class InFlight {
 public:
  // Times that decrease a little count as the latest so far.
  void begin_at(Nanoseconds time_ns) { change(1, time_ns); }
  void end_at(Nanoseconds time_ns) { change(-1, time_ns); }
  // From here on it is measured, and times begin anew at 0.
  void start();
  // One begun (1) or ended (-1) before start(), as is told only now.
  void late(int by);

  const BeginsAndEnds& seen() const { return seen_; }  // since start()
  std::int64_t at_start() const { return steps_.empty() ? 0 : steps_.front().level - lowest_; }
  std::int64_t now() const { return level_ - lowest_; }
  bool was_empty() const { return was_empty_; }
  // The mean time from begin to end since start(), until `until_ns`; 0 if none has ended. If ends
  // exceed begins by what may have no begin, that of the others.
  Nanoseconds mean(Nanoseconds until_ns) const;
  // The same of those that end: if begins exceed ends by what may never end, without that.
  Nanoseconds mean_of_ended(Nanoseconds until_ns) const;

 private:
  struct Step {
    Nanoseconds at_ns = 0;
    std::int64_t level = 0;  // from then on
  };
  void change(int by, Nanoseconds time_ns);
  void see_quiet(Nanoseconds time_ns);
  void see_lowest(std::int64_t level);
  // Requests times time, above the lowest level of all, or the lowest that still follows.
  double area(Nanoseconds until_ns, bool above_following) const;
  // The mean of those whose begin was seen, by the lowest level that came before.
  double mean_of_begun(Nanoseconds until_ns) const;

  std::int64_t level_ = 0;
  std::int64_t lowest_ = 0;         // it is taken for that without a request
  std::int64_t lowest_before_ = 0;  // start()
  std::uint64_t intervals_ = 0;     // between two begins, ever
  Nanoseconds between_ns_ = 0;      // their sum
  Nanoseconds last_begin_ns_ = 0;
  Nanoseconds last_ns_ = 0;
  bool has_begun_ = false;
  bool was_empty_ = false;
  std::vector<Step> steps_;  // since start(), whose level is the first
  BeginsAndEnds seen_;
};

}  // namespace causalctl::progress
