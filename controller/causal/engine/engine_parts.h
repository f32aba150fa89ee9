// What the engine works with. Everything here outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/cpu_limits.h"
#include "controller/base/types.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/engine/spinning.h"
#include "controller/causal/record/evidence.h"
#include "controller/pause/pauser.h"
#include "controller/perf/event_source.h"
#include "controller/progress/counters.h"

namespace causalctl::causal {

inline constexpr unsigned kStackBytes = 8192;  // copied with a sample where callers need it

struct EngineParts {
  Clock& clock;
  perf::EventSource& session;
  pause::Pauser& pauser;
  Attribution& attribution;
  progress::Counters& counters;
  std::vector<std::pair<std::string, std::uint32_t>> sampled_points;  // "file:line" → tag
  Nanoseconds shot_cost_ns = 0;
  int cores = 1;                                        // on which the target may run
  std::function<std::optional<Nanoseconds>()> idle_ns;  // theirs, since some moment; may be empty
  std::vector<Address> breakpoints;                     // armed by debug register
  std::vector<Nanoseconds> visit_costs_ns;  // of one visit, by tag: what is not there is not known
  Spinning::Read read_target;
  std::vector<PointCode> point_codes{};         // by tag
  std::function<TargetState()> target_state{};  // now; may be empty
  std::function<CpuLimits()> cpu_limits{};      // of the target, now; may be empty

  Nanoseconds visit_cost_ns(std::uint32_t tag) const {
    return tag < visit_costs_ns.size() ? visit_costs_ns[tag] : 0;
  }
};

}  // namespace causalctl::causal
