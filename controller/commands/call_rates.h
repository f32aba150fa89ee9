// Counts for a moment the events of a process of which one may be a unit of its work: system calls,
// and USDT probes. `causalctl points` lists them by their rates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/call_counts.h"
#include "controller/progress/progress.h"

namespace causalctl::commands {

struct Rated {
  std::string spec;  // "syscall:sendmsg"
  double per_second = 0;
  bool is_output = false;  // a call that sends or writes something, or makes it last
};

// Counts system calls from now on. Where that is not possible there are none, and `obstacle()` says
// why.
class CallRates {
 public:
  explicit CallRates(Pid target);

  // Ends that, and returns the calls that were made: outputs first, each kind with the most
  // frequent first.
  std::vector<Rated> take();
  const std::string& obstacle() const { return obstacle_; }

 private:
  Nanoseconds begin_ns_ = 0;
  std::unique_ptr<perf::CallCounts> counts_;
  std::string obstacle_;
};

struct ProbeRates {
  std::vector<Rated> fired;              // the most frequent first
  std::vector<std::string> silent;       // SPECs of probes that were watched and did not fire
  std::vector<std::string> not_counted;  // SPECs of those that were not watched
  std::string obstacle;                  // why not; empty if all were
  Nanoseconds watched_ns = 0;
};

// Counts the probes for some tenths of a second, in which each costs its thread as a progress point
// does. Ends earlier if they cost more than a tenth of the time.
ProbeRates rates_of_probes(Pid target, unwind::Symbolizer& symbolizer,
                           const std::vector<progress::UsdtSpec>& probes);

}  // namespace causalctl::commands
