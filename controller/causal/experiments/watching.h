// What watching costs the target while nothing is paused: what counts its points is chosen by that,
// and a run that costs more than it may ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/engine/engine.h"
#include "controller/causal/experiments/budget.h"
#include "controller/causal/experiments/count_choice.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

class Watching {
 public:
  // All must outlive this object.
  Watching(const EngineParts& parts, Engine& engine, Run& run);

  // Chooses what counts each point, and warns of what goes on costing much, so that the user need
  // not wait for a profile of a slowed program. Call it after the survey, and before anything else
  // is measured. `over` returns whether the run has ended.
  void begin(const std::function<bool()>& over);

  // Ends a run that costs more than it may; otherwise, tells a loss when all of it is known. Call
  // it when more is known of what watching costs, and nothing has been paused yet.
  void keep_cheap(std::optional<double> max_slowdown_percent);

 private:
  void choose(const std::function<bool()>& over);
  void warn();
  WatchingCost cost() const;

  const EngineParts& parts_;
  Engine& engine_;
  Run& run_;
  KeptBreakpoints kept_;
  // When points were last counted in another way than before: the target's CPU time, and the visits
  // by tag.
  Nanoseconds cpu_counted_ns_ = 0;
  std::vector<std::uint64_t> visits_counted_;
};

}  // namespace causalctl::causal
