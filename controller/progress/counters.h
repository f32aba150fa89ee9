// Visits of progress points, throughput and latency, during one experiment (Coz section 3.3), or
// one window of an A/B run. Pure.
//
// In an experiment each visit is stamped in virtual time, v = t - lead of the visiting thread: the
// time at which it would have happened in the faster program. So delays that are still owed do not
// falsify a count. In an A/B run virtual time is real time.
//
// Latency: where begin and end of one piece of work happen on one thread, each is measured
// (thread_pairs.h). Otherwise the mean is that of Little's law (in_flight.h). A thread that has
// several pieces open at once (an event loop, a nested call) does not tell whose end an end is:
// once it is seen to do so, its pairs are not used any more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/fields.h"
#include "controller/base/types.h"
#include "controller/progress/in_flight.h"
#include "controller/progress/thread_pairs.h"

namespace causalctl::progress {

struct ThroughputCount {
  std::string name;
  std::uint64_t visits = 0;  // during the experiment, exact
  // First and last visit in *virtual* time since the start of the experiment
  // (docs/virtual-time.md): (last - first) / (visits - 1) is the progress period. Equal when there
  // were fewer than two.
  Nanoseconds first_ns = 0;
  Nanoseconds last_ns = 0;
  // Real time between the two, without stops by a quota; 0 if there were fewer than two.
  Nanoseconds real_ns = 0;

  static constexpr auto fields() {
    return std::tuple{
        Field("name", &ThroughputCount::name), Field("visits", &ThroughputCount::visits),
        Field("first_ns", &ThroughputCount::first_ns), Field("last_ns", &ThroughputCount::last_ns),
        Field("real_ns", &ThroughputCount::real_ns, kIfSet)};
  }
};

struct LatencyCount {
  std::string name;
  std::uint64_t begins = 0;
  std::uint64_t ends = 0;
  std::int64_t in_progress_start = 0;  // begins - ends since attach
  std::int64_t in_progress_end = 0;
  Nanoseconds mean_ns = 0;  // 0: not known
  Nanoseconds p50_ns = 0;   // 0: ends could not be paired with begins
  Nanoseconds p99_ns = 0;

  static constexpr auto fields() {
    return std::tuple{Field("name", &LatencyCount::name),
                      Field("begins", &LatencyCount::begins),
                      Field("ends", &LatencyCount::ends),
                      Field("in_progress_start", &LatencyCount::in_progress_start),
                      Field("in_progress_end", &LatencyCount::in_progress_end),
                      Field("mean_ns", &LatencyCount::mean_ns),
                      Field("p50_ns", &LatencyCount::p50_ns),
                      Field("p99_ns", &LatencyCount::p99_ns)};
  }
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

  // An experiment starts, at this time of the one before. What is in progress stays.
  void start(Nanoseconds passed_ns);
  // `virtual_ns`: since the start of the experiment. `gained_ns`: how much less that is than the
  // real time.
  void visit(std::uint32_t tag, Tid thread, Nanoseconds virtual_ns, Nanoseconds gained_ns = 0);
  // One of before the start of which the kernel tells only now. It does not count, but changes what
  // was in progress at the start.
  void late_visit(std::uint32_t tag, Tid thread, Nanoseconds ago_ns);
  void thread_began(Tid thread);
  // Some visits were not counted, or twice: nothing is known of what is in progress.
  void forget_in_progress();
  void thread_ended(Tid thread);

  std::vector<ThroughputCount> throughput() const;
  // `length_ns`: of the experiment, effective.
  std::vector<LatencyCount> latency(Nanoseconds length_ns) const;
  const InFlight& in_flight(const std::string& latency) const {
    return latency_.at(latency).in_flight;
  }

  // The fewest visits of any point that was ever visited (a point that is never hit must not
  // stretch experiments for ever); 0 when none was.
  std::uint64_t fewest_visits() const;
  std::uint64_t total_visits(std::uint32_t tag) const { return totals_.at(tag); }
  std::uint64_t births() const { return births_; }  // of threads, ever
  const std::vector<CountedPoint>& points() const { return points_; }

 private:
  struct Throughput {
    std::uint64_t visits = 0;
    Nanoseconds first_ns = 0, last_ns = 0;
    Nanoseconds first_gained_ns = 0, last_gained_ns = 0;
  };
  struct Latency {
    InFlight in_flight;
    ThreadPairs pairs;
  };

  std::vector<CountedPoint> points_;
  std::vector<std::uint64_t> totals_;
  std::uint64_t births_ = 0;
  std::map<std::uint32_t, Throughput> throughput_;
  std::map<std::string, Latency> latency_;
};

}  // namespace causalctl::progress
