// What every loop over a Stream does beside it, tick by tick and at the end.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "controller/causal/engine/stream.h"
#include "controller/causal/record/experiment.h"
#include "controller/symbols/call_chain.h"

namespace causalctl::causal {

using symbols::kStackBytes;

class Ticker {
 public:
  // `scope` and `warnings` outlive it. Warnings are added to `warnings`.
  Ticker(const StreamParts& parts, Stream& stream, const config::Scope& scope,
         std::vector<std::string>& warnings)
      : parts_(parts), stream_(stream), scope_(scope), warnings_(warnings) {}

  // Stream::step(); sampling periods are drawn anew; when it is known whether there is line
  // information it is looked at, once.
  void step();

  void begin_experiment();
  // An experiment says nothing when the controller was late in it, records were lost, or the kernel
  // has left out much of what was to be sampled.
  // REQUIRES: its lost_records are known, and it is not discarded yet.
  void judge(Experiment& experiment) const;

 private:
  const StreamParts& parts_;
  Stream& stream_;
  const config::Scope& scope_;
  std::vector<std::string>& warnings_;
  Nanoseconds worst_late_ns_ = 0;
  Nanoseconds cpu_before_ns_ = 0;  // of the experiment
  Nanoseconds unsampled_before_ns_ = 0;
  Nanoseconds drawn_at_ns_ = 0;
  bool lines_checked_ = false;
};

// The losses, and the controller's share of a core. REQUIRES: run.wall_ns is known; the controller
// had used `cpu_start_ns` at its begin.
void add_totals(const StreamParts& parts, Nanoseconds cpu_start_ns, Run& run);

}  // namespace causalctl::causal
