// Tells why an experiment says nothing, and what a run has lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "controller/causal/engine/engine_parts.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Judges a stretch of time.
class Judge {
 public:
  explicit Judge(const perf::EventSource& session) : session_(session) {}

  // `cpu_ns` is the target's CPU time by its samples, here and below.
  void begin(Nanoseconds cpu_ns);
  void stepped(Nanoseconds late_ns) { worst_late_ns_ = std::max(worst_late_ns_, late_ns); }
  // Returns why the time since begin(), or since the start, says nothing: the controller was late,
  // records were lost, or the kernel left out many samples. Returns an empty text if the time
  // counts.
  std::string verdict(Nanoseconds cpu_ns, std::uint64_t lost_records) const;

 private:
  const perf::EventSource& session_;
  Nanoseconds worst_late_ns_ = 0;
  Nanoseconds cpu_before_ns_ = 0;
  Nanoseconds unsampled_before_ns_ = 0;
};

// Adds the losses, and the controller's share of a core. `cpu_start_ns` is the CPU time that the
// controller had used when the run began. REQUIRES: run.wall_ns is known.
void add_totals(const EngineParts& parts, Nanoseconds cpu_start_ns, Run& run);

}  // namespace causalctl::causal
