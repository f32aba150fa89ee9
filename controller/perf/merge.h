// One time-ordered stream out of the rings' streams (pure).
//
// Rings are read one after the other, so an event read late from one ring may be older than one
// read early from another. What is younger than the watermark therefore waits for the next reading:
// by then every ring has been read to beyond it. Sorting by (time, arrival) is stable, and also
// mends a single ring's small disorder (an interrupt that writes while a record is being written).
#pragma once

#include <cstdint>
#include <vector>

#include "controller/perf/events.h"

namespace causalctl::perf {

class Merger {
 public:
  void push(Event event);

  // Everything with time <= watermark, oldest first. An event that arrives after a later watermark
  // was taken comes with the next take: late, but never lost.
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
