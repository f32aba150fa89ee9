// Turns the stream of events into the recording: samples become values of paths, switches become
// waits. Pure, but for what the two functions do that it is given.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/edges.h"
#include "controller/callpath/recording.h"
#include "controller/callpath/shares.h"
#include "controller/callpath/thread_groups.h"
#include "controller/callpath/waits.h"
#include "controller/perf/events.h"
#include "unwind/chain.h"

namespace causalctl::callpath {

struct RecorderParts {
  // Returns a chain without frames for a thread that has no user code.
  std::function<const unwind::Chain&(const perf::SampleEvent&)> chain;
  std::function<LocationId(Address, bool is_call)> locate;
  // Returns the name of a thread that has begun.
  std::function<std::string(Tid)> name_of;
};

class Recorder {
 public:
  // `waits`: the time in which threads waited is recorded. The recording must have an epoch.
  Recorder(RecorderParts parts, Grouping grouping, bool waits, Recording& recording);

  void take(const perf::Event& event);  // in time order
  // Counts what waits have lasted so far, and gives those without a sampled path to other paths.
  void settle(Nanoseconds now_ns);
  void begin_epoch(Nanoseconds start_ns, const std::string& reason, Nanoseconds now_ns);
  // Another program was executed: what was called before is over.
  void executed() { edges_.clear(); }

  const std::map<ThreadId, ThreadTimes>& times() const { return waits_.times(); }

 private:
  struct ThreadWaits {
    std::map<NodeId, WaitSums> sampled;  // since the last settle()
    WaitSums others;                     // whose path was not sampled
  };

  void take_sample(const perf::SampleEvent& sample);
  void take_switch(const perf::SwitchEvent& change);
  void add(const Wait& wait);
  void flush(ThreadId thread);
  void count_calls(const unwind::Chain& chain, const perf::SampleEvent& sample, NodeId node);
  NodeId path_of(const perf::SampleEvent& sample);
  SliceKey key(ThreadId thread, Metric metric);

  RecorderParts parts_;
  Recording& recording_;
  ThreadGroups groups_;
  bool with_waits_;
  Waits waits_;
  std::map<ThreadId, ThreadWaits> pending_;
  Edges edges_;
  std::vector<LocationId> path_;  // of the present sample, outermost first
};

}  // namespace causalctl::callpath
