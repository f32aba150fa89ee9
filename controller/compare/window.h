// Progress points of one process, counted from outside during one window: the same resolving,
// arming and counting as in a causal profile, and nothing else: no samples, no pauses, nothing in
// the process.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "controller/compare/comparison.h"
#include "controller/perf/session.h"
#include "controller/progress/counted.h"

namespace causalctl::compare {

class Window {
 public:
  // Resolves and arms. Throws UsageError (no such point), TargetGone, Error.
  Window(const config::Progress& progress, Pid pid, std::uint64_t seed);

  void begin();    // what happened before does not count
  void collect();  // often enough that no ring overflows: every kCollectEvery
  // Seconds per visit, and latencies. Throws Error where a point was visited too rarely.
  std::vector<Measured> end();

  // Of the first throughput point, else the ends of the first latency, in the window.
  std::uint64_t units() const { return units_; }
  // In the window, or just before it: the kernel tells late. Throughputs are right nevertheless,
  // latencies may not be.
  std::uint64_t records_lost() const;
  // After end(): what counting took of the window, of one core, and all points' visits a second.
  double counting_share() const { return counting_share_; }
  double visits_per_s() const { return visits_per_s_; }

 private:
  void collect_until(Nanoseconds watermark_ns);
  Measured throughput(const progress::ThroughputCount& count, std::uint64_t exact) const;
  std::vector<std::uint64_t> exact_counts() const;  // by tag

  progress::CountedPoints points_;
  std::vector<Nanoseconds> visit_costs_ns_;  // by tag
  perf::Session session_;
  progress::Counters counters_;
  Nanoseconds begin_ns_ = 0;
  std::vector<std::uint64_t> counts_before_;
  std::uint64_t lost_before_ = 0;  // records, of the session
  std::uint64_t visits_lost_ = 0;  // of one point, in this window: counted, and without a record
  Nanoseconds length_ns_ = 0;
  std::uint64_t units_ = 0;
  double visits_per_s_ = 0;
  double counting_share_ = 0;
};

inline constexpr Nanoseconds kCollectEvery = 20 * kMillisecond;

}  // namespace causalctl::compare
