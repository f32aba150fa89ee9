// Merges the streams of all rings into one in time order. Pure.
//
// Rings are read one after the other, so an event read late from one ring may be older than one
// read early from another. An event that is younger than the watermark therefore waits for the next
// reading: by then every ring has been read beyond it. Sorting by (time, arrival) is stable. It
// also mends small disorder within a ring, when an interrupt writes while a record is being
// written.
#pragma once

#include <cstddef>
#include <utility>

#include "controller/perf/event_batch.h"

namespace causalctl::perf {

class Merger {
 public:
  template <typename Each>  // of those that an Event can be
  void push(Each event) {
    events_.push(std::move(event));
  }

  // Returns every event with time <= watermark, oldest first. An event that arrives after a later
  // watermark was taken comes with the next take: late, but never lost.
  EventBatch take_until(Nanoseconds watermark_ns);

  std::size_t pending() const { return events_.size(); }

 private:
  EventBatch events_;
};

}  // namespace causalctl::perf
