// Gives samples the copies of stacks that belong to them (interrupted_stacks.h). Pure.
#pragma once

#include <map>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"

namespace causalctl::perf {

class InterruptedCopies {
 public:
  bool empty() const { return by_thread_.empty(); }
  void add(std::vector<SampleEvent> copies);  // in any order
  // Completes a sample if it has a copy. Those of a thread come in the order of time.
  void give(SampleEvent& sample);
  void forget(Nanoseconds older_than_ns);

 private:
  std::map<Tid, std::vector<SampleEvent>> by_thread_;  // by time
};

}  // namespace causalctl::perf
