// Keeps sampling within kernel.perf_event_max_sample_rate: what is beyond it the kernel leaves out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/event_source.h"

namespace causalctl::causal {

// Why an experiment does not count in which the kernel stopped the sampling for `unsampled_ns` of
// its CPU time. Returns an empty text if it counts. Pure.
std::string too_little_sampled(Nanoseconds sampled_ns, Nanoseconds unsampled_ns);

class SamplingLimit {
 public:
  // `session` and `warnings` outlive it. Warnings are added to `warnings`.
  SamplingLimit(const perf::EventSource& session, std::vector<std::string>& warnings)
      : session_(session), warnings_(warnings) {}

  // The shortest mean period that the kernel allows now; 0: not known.
  Nanoseconds shortest_ns();
  // The period asked for, or a longer one that is allowed, with a warning.
  Nanoseconds allowed(Nanoseconds asked_ns);
  // The period to go on with: `period_ns`, or a longer one where the limit has fallen below it,
  // with a warning. Looks every few seconds.
  Nanoseconds still_allowed(Nanoseconds period_ns, Nanoseconds now_ns);

 private:
  const perf::EventSource& session_;
  std::vector<std::string>& warnings_;
  std::uint64_t limit_ = 0;
  Nanoseconds polled_at_ns_ = 0;
};

}  // namespace causalctl::causal
