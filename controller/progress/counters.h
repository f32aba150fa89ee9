// Visits of progress points, throughput and latency, during one experiment (Coz section 3.3), or
// one window of an A/B run. Pure.
//
// In an experiment each visit is stamped in virtual time, v = t - local of the visiting thread: the
// time at which it would have happened in the faster program. So delays that are still owed do not
// falsify a count. In an A/B run virtual time is real time.
//
// Latency: where begin and end of one piece of work happen on one thread, each is measured. Else by
// Little's law, W = L / lambda: the mean number in progress over the experiment, by the rate of
// ends.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::progress {

struct ThroughputCount {
  std::string name;
  std::uint64_t visits = 0;  // during the experiment, exact
  // First and last visit in *virtual* time since the start of the experiment
  // (docs/virtual-time.md): (last - first) / (visits - 1) is the progress period. Equal when there
  // were fewer than two.
  Nanoseconds first_ns = 0;
  Nanoseconds last_ns = 0;
};

struct LatencyCount {
  std::string name;
  std::uint64_t begins = 0;
  std::uint64_t ends = 0;
  std::int64_t in_progress_start = 0;  // begins - ends since attach
  std::int64_t in_progress_end = 0;
  Nanoseconds mean_ns = 0;  // 0: not known
  Nanoseconds p50_ns = 0;   // 0: the two ends were not on one thread
  Nanoseconds p99_ns = 0;
};

// What a tag of the event stream means.
struct CountedPoint {
  enum class Kind : std::uint8_t { throughput, begin, end };
  std::string name;
  Kind kind = Kind::throughput;
};

class Counters {
 public:
  explicit Counters(std::vector<CountedPoint> points);  // index: the tag

  void start();  // of an experiment; what is in progress stays
  // `virtual_ns`: since the start of the experiment.
  void visit(std::uint32_t tag, Tid thread, Nanoseconds virtual_ns);
  void thread_ended(Tid thread);

  std::vector<ThroughputCount> throughput() const;
  // `length_ns`: of the experiment, effective.
  std::vector<LatencyCount> latency(Nanoseconds length_ns) const;

  // The fewest visits of any point that was ever visited (a point that is never hit must not
  // stretch experiments for ever); 0 when none was.
  std::uint64_t fewest_visits() const;
  std::uint64_t total_visits(std::uint32_t tag) const { return totals_.at(tag); }
  const std::vector<CountedPoint>& points() const { return points_; }

 private:
  struct Throughput {
    std::uint64_t visits = 0;
    Nanoseconds first_ns = 0, last_ns = 0;
  };
  struct Latency {
    std::uint64_t begins = 0, ends = 0;
    std::int64_t in_progress = 0, in_progress_start = 0;
    Nanoseconds changed_at_ns = 0;
    double area = 0;                       // integral of in_progress over virtual time
    std::vector<Nanoseconds> measured_ns;  // begin and end on one thread
    std::unordered_map<Tid, Nanoseconds> begun_ns;
  };

  void change(Latency& latency, std::int64_t by, Nanoseconds now_ns);

  std::vector<CountedPoint> points_;
  std::vector<std::uint64_t> totals_;
  std::map<std::uint32_t, Throughput> throughput_;
  std::map<std::string, Latency> latency_;
};

}  // namespace causalctl::progress
