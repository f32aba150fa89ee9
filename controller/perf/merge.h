// Merges the streams of all rings into one in time order. Pure.
//
// Rings are read one after the other, so an event read late from one ring may be older than one
// read early from another. An event that is younger than the watermark therefore waits for the next
// reading: by then every ring has been read beyond it. Sorting by (time, arrival) is stable. It
// also mends small disorder within a ring, when an interrupt writes while a record is being
// written.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/perf/events.h"

namespace causalctl::perf {

class Merger {
 public:
  void push(Event event);

  // Returns every event with time <= watermark, oldest first. An event that arrives after a later
  // watermark was taken comes with the next take: late, but never lost.
  std::vector<Event> take_until(Nanoseconds watermark_ns);

  std::size_t pending() const { return events_.size(); }

 private:
  struct Key {
    Nanoseconds time_ns;
    std::size_t arrival;  // index in events_
    auto operator<=>(const Key&) const = default;
  };

  std::vector<Event> events_;
  std::vector<Key> keys_;
};

}  // namespace causalctl::perf
