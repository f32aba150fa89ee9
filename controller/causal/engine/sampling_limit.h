// Keeps sampling within kernel.perf_event_max_sample_rate, because the kernel drops samples beyond
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/event_source.h"

namespace causalctl::causal {

// Returns why an experiment does not count in which the kernel stopped sampling for `unsampled_ns`
// of the target's CPU time; empty if it counts. Pure.
std::string too_little_sampled(Nanoseconds sampled_ns, Nanoseconds unsampled_ns);

class SamplingLimit {
 public:
  // `session` and `warnings` outlive it. Warnings are added to `warnings`.
  SamplingLimit(const perf::EventSource& session, std::vector<std::string>& warnings)
      : session_(session), warnings_(warnings) {}

  // Returns the shortest mean period that the kernel allows now; 0 if it is not known.
  Nanoseconds shortest_ns();
  // Returns the period asked for, or a longer one, with a warning, if that one is not allowed.
  Nanoseconds allowed(Nanoseconds asked_ns);
  // Returns the period to go on with: `period_ns`, or a longer one, with a warning, if the limit no
  // longer allows it. Reads the limit every few seconds.
  Nanoseconds still_allowed(Nanoseconds period_ns, Nanoseconds now_ns);

 private:
  const perf::EventSource& session_;
  std::vector<std::string>& warnings_;
  std::uint64_t limit_ = 0;
  Nanoseconds polled_at_ns_ = 0;
};

}  // namespace causalctl::causal
