// What the experiments need of perf::Session: the merged stream of events and the sampling behind
// it. A simulated machine (tests/sim) implements it, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/event_batch.h"

namespace causalctl::perf {

// A process of a set that is not followed, because its events may not be opened.
struct ForbiddenProcess {
  std::string name;    // as in /proc/PID/comm
  std::string reason;  // which says what to do

  bool operator==(const ForbiddenProcess&) const = default;
};

// Which of the options could not be had, and why; the report shows it.
struct SessionLimits {
  bool kernel_samples = true;
  bool wake_edges = true;
  std::vector<std::string> reasons;  // each once
  std::map<Pid, ForbiddenProcess> forbidden = {};

  void add(std::string reason) {
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
      reasons.push_back(std::move(reason));
    }
  }
};

struct SessionLosses {
  std::uint64_t records_lost = 0;
  std::uint64_t throttles = 0;              // samples after which the kernel took none for a while
  std::uint64_t stacks_copied_in_part = 0;  // of samples, deeper than what was copied of them
  // Threads of which nothing is known, because they died before their events were open.
  std::uint64_t threads_missed = 0;
  Nanoseconds unseen_ns = 0;     // of others, from their birth until then, or to their end; summed
  Nanoseconds unsampled_ns = 0;  // CPU time for which no sample stands, owing to throttles
};

class EventSource {
 public:
  virtual ~EventSource() = default;

  virtual void start() = 0;                   // lets records flow from now on
  virtual void enable_sampling(bool on) = 0;  // concerns samples only
  // The mean; each thread's is jittered around it.
  virtual void set_period(Nanoseconds period_ns) = 0;
  virtual void set_stack_bytes(unsigned bytes) = 0;  // reopens the sampling events
  virtual void jitter() = 0;  // draws new periods for threads that were sampled (DCPI §4.1.1)

  // Returns everything that happened before now - guard, in time order, each event once. Opens new
  // threads and closes dead ones. A record that the kernel published later than the guard allows
  // for is the first of the next drain.
  virtual EventBatch drain(Nanoseconds now_ns) = 0;

  virtual bool target_alive() const = 0;
  virtual const SessionLimits& limits() const = 0;
  virtual SessionLosses losses() const = 0;
  // Returns the present kernel.perf_event_max_sample_rate, or nullopt if unknown.
  virtual std::optional<std::uint64_t> sample_rate_limit() const { return std::nullopt; }
  // Returns the names of other processes that are followed (perf/peers.h).
  virtual std::vector<std::string> peers() const { return {}; }
};

}  // namespace causalctl::perf
