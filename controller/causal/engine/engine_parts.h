// What the engine works with. Everything here outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/cpu_limits.h"
#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/engine/spinning.h"
#include "controller/causal/record/evidence.h"
#include "controller/pause/pauser.h"
#include "controller/perf/event_source.h"
#include "controller/progress/armory.h"
#include "controller/progress/counters.h"

namespace causalctl::progress {
class OtherWay;
}

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
  // What a sample takes of its thread, without a copy of the stack and with it
  // (perf/sample_time.h).
  std::optional<Interval> sample_ns{}, sample_with_stack_ns{};
  int cores = 1;                                        // on which the target may run
  std::function<std::optional<Nanoseconds>()> idle_ns;  // theirs, since some moment; may be empty
  const progress::Armory& armory;
  Spinning::Read read_target;
  std::vector<PointCode> point_codes{};         // by tag
  std::function<TargetState()> target_state{};  // now; may be empty
  std::function<CpuLimits()> cpu_limits{};      // of the target, now; may be empty
  // Counts the point of this tag in another way beside its breakpoints; null if there is none. May
  // be empty.
  std::function<std::unique_ptr<progress::OtherWay>(std::uint32_t)> other_way{};
};

}  // namespace causalctl::causal
