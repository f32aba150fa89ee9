// The events that the user asks for, found in one target and on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/record/event_spec.h"
#include "controller/callpath/record/recording.h"
#include "controller/perf/events.h"
#include "controller/perf/sampled_event.h"
#include "controller/perf/uprobe_place.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::callpath {

struct WatchedEvent {
  EventMetric metric;
  EventSpec spec;
  std::vector<perf::EventTemplate> templates;  // one for each place of a function
  std::vector<std::string> remarks;  // what of a function is not counted, or is besides; sentences
  Nanoseconds cost_ns = 0;  // what each event costs its thread, sampled or not; 0: next to nothing
};

// The tag of an event is its index. Throws UsageError, which tells the nearest names, if there is
// no such system call, function or register; Error with a hint if the event cannot be had here.
std::vector<WatchedEvent> watch_events(const std::vector<EventSpec>& specs, Pid target,
                                       unwind::Symbolizer& symbolizer);

// Returns what a sample of the event adds to its sum: the number of events, or for each of them
// what the sampled one has. What is negative, an error or no size, is nothing. Pure.
std::uint64_t amount_of(const WatchedEvent& event, const perf::SampleEvent& sample);

}  // namespace causalctl::callpath
