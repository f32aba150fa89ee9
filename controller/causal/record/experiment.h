// What one run and one experiment left behind: the structs behind the experiment log, passive.
// The log's format is docs/log-format.md; causal/record/log.h writes and reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/record/core_totals.h"
#include "controller/progress/counters.h"
#include "controller/session/recording.h"

namespace causalctl::causal {

using progress::LatencyCount;
using progress::ThroughputCount;
using session::Counting;
using session::Death;
using session::Losses;

using UnitId = std::uint32_t;  // its place in a list of units

struct Unit {
  std::string name;  // "hash.c:217" or "hashtable_search": as short as is unique in its run
  bool is_line = false;
  std::string function;
  std::string file;
  int line = 0;
  std::string module{};  // file name of the binary; empty: not known
};

struct Experiment {
  Unit unit;
  double speedup = 0;        // 0 to 1; 0: baseline
  Nanoseconds start_ns = 0;  // since the start of the run
  Nanoseconds wall_ns = 0;
  Nanoseconds warm_up_ns = 0;        // before it; not logged
  Nanoseconds warm_up_delay_ns = 0;  // of which the target was paused
  Nanoseconds delay_ns = 0;          // growth of the largest lead; in a baseline by visits only
  Nanoseconds effective_ns = 0;      // wall - delay
  std::uint64_t samples = 0;         // in the unit
  std::vector<ThroughputCount> throughput;
  std::vector<LatencyCount> latency;
  Nanoseconds runnable_wait_ns = 0;  // threads of the target waiting for a core, summed
  Nanoseconds foreign_wait_ns = 0;   // of these, what other processes or a limit caused
  CoreTotals cores;
  std::uint64_t lost_records = 0;
  Nanoseconds asked_ns = 0;  // by pauses that were made, and what was still owed at the end
  Nanoseconds paid_ns = 0;
  std::uint64_t pauses = 0;
  // Standard error of the virtual time: what is not known of the cost of a thread's pauses.
  Nanoseconds cost_error_ns = 0;
  Nanoseconds model_error_ns = 0;  // … what the theory itself leaves open (model_error.h)
  std::string discarded;           // why it does not count (controller late, …); empty: counts
};

struct UnitSamples {
  Unit unit;
  std::uint64_t count = 0;           // over the whole run
  std::uint64_t baseline_count = 0;  // during baselines that count, whichever unit they were for
  std::uint64_t inherited = 0;       // of `count`, as the caller of code out of scope
};

// To a thread of one pause, besides the pause; counted as paid.
struct PauseCost {
  Nanoseconds cost_ns = 0;
  Nanoseconds error_ns = 0;   // standard, of pauses of that length
  Nanoseconds length_ns = 0;  // mean, of those it was measured with; 0: not known
};

struct Overhead {
  std::optional<double> slowdown;  // of the target's progress while attached, all speedups 0
  std::optional<double> slowdown_low, slowdown_high;  // 95 %; nullopt: not known
  double controller_cpu_share = 0;                    // of one core
  Nanoseconds attach_stop_ns = 0;
  // From a sample in the unit to the beginning of the pause that it makes necessary; 0: no pauses.
  Nanoseconds sample_to_pause_p50_ns = 0;
  Nanoseconds sample_to_pause_p99_ns = 0;
  Nanoseconds period_ns = 0;
  PauseCost pause_cost;
};

// What a point's rate did while all threads of the target stood still for a part of the time, and
// nothing was faster (pacing.h).
struct Pacing {
  std::string point;
  double paused_share = 0;  // that part
  // Visits in real time, over those without: 1 - paused_share where progress waits for the program
  // alone, 1 where it comes at its own pace. Low and high: 95 %.
  double rate = 1, low = 0, high = 1;
  bool cores_short = false;  // threads queued for cores then, though these were not always busy
  // The part of the time that threads stand still by which their waits for other things than cores
  // are the shorter, visit by visit: 1 where it comes at its own pace, 0 where it waits for the
  // program. Low and high: 95 %.
  double absorbed = 0, absorbed_low = 0, absorbed_high = 0;
};

struct Run : session::Recording {
  std::vector<Experiment> experiments;
  std::vector<UnitSamples> samples;
  Overhead overhead;
  CoreTotals cores;            // since the attach
  std::vector<Pacing> pacing;  // of the throughput points for which it was measured
};

}  // namespace causalctl::causal
