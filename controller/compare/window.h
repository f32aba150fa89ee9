// Counts progress points of one process, from outside, during one window. Points are resolved,
// armed and counted as in a causal profile, but there are no samples and no pauses, and nothing is
// injected.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "controller/base/unpaired_share.h"
#include "controller/compare/comparison.h"
#include "controller/perf/session.h"
#include "controller/progress/armed.h"
#include "controller/progress/loaded_later.h"
#include "controller/progress/progress.h"
#include "controller/session/children.h"
#include "controller/session/watch.h"

namespace causalctl::compare {

// Thrown where threads begin so often that their first visits are missing, and would not be if
// points were counted by uprobes, of which all threads have them at once.
struct NeedsUprobes {};

class Window {
 public:
  // Resolves and arms the points. Throws UsageError (no such point), TargetGone, Error.
  Window(const config::Progress& progress, Pid pid, std::uint64_t seed);

  // Whether it is known how many requests of each latency are in flight (progress/in_flight.h), or
  // ends are paired with begins, so that it need not be.
  bool knows_in_flight() const;
  // Whether the points still stand where they were found: nothing was unloaded that has
  // breakpoints, and no other program executed.
  bool is_in_place();
  // May be called again after end(), for another window. What happened before does not count.
  void begin();
  void collect();  // must be called once every kCollectEvery, so that no ring overflows
  // Returns seconds per visit, and latencies, which are NaN if they are not known. Throws RunFailed
  // if a point was passed too rarely, and NeedsUprobes.
  std::vector<Measured> end();

  // Visits of the first throughput point in the window; without one, ends of the first latency.
  std::uint64_t units() const { return units_; }
  // Losses in the window or just before it, because the kernel reports them late. Throughputs are
  // right nevertheless; latencies may not be.
  std::uint64_t records_lost() const;
  // Valid after end(): how much of one core counting took in the window, and the visits per second
  // of all points.
  double counting_share() const { return counting_share_; }
  double visits_per_s() const { return visits_per_s_; }
  // Of each latency whose ends are not paired with begins, by its name.
  const std::map<std::string, BeginsAndEnds>& unpaired() const { return unpaired_; }
  std::vector<std::string> remarks() const;  // as progress::Point::remarks, of all points
  // Valid after end(): how many threads a second began whose first visits may be missing; 0 if they
  // are too few to matter.
  double births_per_s() const { return births_per_s_; }
  // Of each latency, by its name: what of each is the cost of counting it, its begin's and its
  // end's own half.
  const std::map<std::string, Nanoseconds>& counting_in_latency() const { return counting_in_; }

 private:
  void collect_until(Nanoseconds watermark_ns);
  void note_births(const std::vector<std::uint64_t>& counts_after);
  Nanoseconds mean_of(const progress::LatencyCount& count);
  Measured throughput(const progress::ThroughputCount& count, std::uint64_t exact) const;
  std::optional<std::string> unseen() const;  // as too_rare() takes it
  [[noreturn]] void throw_too_rare(const std::string& name, std::uint64_t visits) const;
  [[noreturn]] void throw_too_rare(const progress::LatencyCount& count) const;
  std::vector<std::uint64_t> exact_counts() const;  // by tag

  Pid pid_;
  session::Children children_;
  progress::CountedPoints points_;
  std::vector<progress::Armed> armed_;  // by tag
  progress::Unloads unloads_;           // of files in which breakpoints stand
  bool executed_ = false;               // another program
  config::CountBy count_by_;
  std::map<std::string, Nanoseconds> counting_in_;
  std::uint64_t births_ = 0;         // in the window, of threads that were seen
  std::uint64_t missed_before_ = 0;  // threads
  double births_per_s_ = 0;
  session::Watch watch_;
  perf::Session& session_;
  progress::Counters counters_;
  std::map<std::string, BeginsAndEnds> unpaired_;
  Nanoseconds begin_ns_ = 0;
  std::vector<std::uint64_t> counts_before_;
  std::uint64_t lost_before_ = 0;  // records that the session had lost before
  // Visits of one point in this window that were counted but have no record.
  std::uint64_t visits_lost_ = 0;
  Nanoseconds length_ns_ = 0;
  std::uint64_t units_ = 0;
  double visits_per_s_ = 0;
  double counting_share_ = 0;
};

inline constexpr Nanoseconds kCollectEvery = 20 * kMillisecond;

}  // namespace causalctl::compare
