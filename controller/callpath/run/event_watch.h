// The events of a recording from their search to its end: what is opened for them, that they cost
// no more than they may, and what the report must say of them. Shell.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/engine/recorder.h"
#include "controller/callpath/record/event_spec.h"
#include "controller/callpath/record/recording.h"
#include "controller/callpath/run/counts.h"
#include "controller/callpath/run/event_cost.h"
#include "controller/callpath/run/watched_events.h"
#include "controller/perf/session.h"

namespace causalctl::callpath {

class EventWatch {
 public:
  // Enters the events into the recording. Each that costs something may cost its share of
  // `most_slowdown`. Which of them are seen depends on `seed`. Throws as watch_events() does.
  EventWatch(const std::vector<EventSpec>& specs, double most_slowdown, std::uint64_t seed,
             Pid target, Recording& recording);

  const std::vector<WatchedEvent>& events() const { return events_; }  // by tag
  // Closes and opens uprobes so that they do not cost more than they may, `time_ns` after the
  // start.
  void keep_cost_small(Nanoseconds time_ns, perf::Session& session, Counts& counts);
  // Returns when to call this next at the latest, as `time_ns`; Thinning::kNever if it can wait.
  Nanoseconds next_ns() const;
  std::vector<double> cost_shares() const;  // by tag: of the busiest thread's time, while open
  // `is_alive`: the process has not ended.
  void warn(const Counts& counts, const Recorder& recorder, bool is_alive,
            Recording& recording) const;

 private:
  struct Cost {
    Thinning thinning;
    bool is_open = true;
    bool is_lost = false;  // it cannot be opened again
  };

  std::vector<WatchedEvent> events_;
  std::vector<Cost> costs_;  // by tag
};

}  // namespace causalctl::callpath
