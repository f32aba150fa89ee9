// Counts all calls of the functions that `--count` names, while samples of the same calls tell
// their paths.
//
// A program in the kernel counts the hits of a uprobe in all threads of the process, those included
// that begin later, and no other process (perf/sampled_hits.h). Where no such program is permitted,
// the perf events of the threads count; what a thread does before its event is open is then
// missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"
#include "controller/callpath/record/strata.h"
#include "controller/callpath/run/event_cost.h"
#include "controller/callpath/run/watched_events.h"
#include "controller/perf/session.h"

namespace causalctl::callpath {

class Counts {
 public:
  // Of the functions among `events`, whose tags are their indices. What it is given must outlive
  // it.
  Counts(Pid target, const std::vector<WatchedEvent>& events, const perf::Session& session,
         Recording& recording);

  void start(Nanoseconds now_ns);  // counts from now on
  // A thread has begun since the start.
  void thread_began() { thread_began_ = true; }
  // A piece ends, which is what counts, or begins, while the function is counted.
  void take(std::uint32_t tag, const Thinning::Step& step);

  bool has(std::uint32_t tag) const { return function_of(tag) != nullptr; }
  // Writes the counts into the recording. `cost_share` is by tag.
  void update(Nanoseconds now_ns, const std::vector<double>& cost_share);

 private:
  struct Function {
    std::uint32_t tag = 0;
    Strata strata;                        // that have had their pieces
    Nanoseconds stratum_ns = 0;           // since when, or from when on, there is the next one
    std::optional<Nanoseconds> piece_ns;  // since when there is a piece
    std::uint64_t calls_before = 0;       // so far, then
    Nanoseconds cpu_before_ns = 0;        // CPU time of the process then
  };

  const Function* function_of(std::uint32_t tag) const;
  Function* function_of(std::uint32_t tag);
  void write(const Function& function, Nanoseconds now_ns, FunctionCount& count) const;
  // The share of the threads' time on cores that the calls of a piece have cost.
  double cost_share(const Function& function, std::uint64_t calls) const;

  Pid target_;
  const std::vector<WatchedEvent>& events_;
  const perf::Session& session_;
  Recording& recording_;
  std::vector<Function> functions_;
  bool thread_began_ = false;
  Nanoseconds start_ns_ = 0;
};

}  // namespace causalctl::callpath
