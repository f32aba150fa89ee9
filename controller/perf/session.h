// The set of perf events on all threads of one target, and the merged stream of what they report.
//
// Each thread has a ring, into which all of its events write (samples with copied stacks have one
// of their own): samples (task-clock), switches, task records, wake edges (sched:sched_waking) and
// one event per breakpoint of a progress point. Uprobes report all threads through one ring. New
// threads are followed by FORK records and a look into /proc/PID/task, so that a thread is never
// counted twice and its serial is never reused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event_source.h"
#include "controller/perf/events.h"
#include "controller/perf/uprobe_place.h"

namespace causalctl::perf {

struct SessionOptions {
  // Where this is false, only progress points and the birth and death of threads are followed: a
  // thread costs nothing but its visits, and the options of sampling mean nothing.
  bool sampling = true;
  Nanoseconds period_ns = kMillisecond;
  bool kernel_samples = true;      // charged to the user code that made the call
  bool wake_edges = true;          // sched:sched_waking
  unsigned call_chain_depth = 32;  // 0: address only
  unsigned stack_bytes = 0;        // > 0: copy registers and this much stack (multiple of 8)
  std::uint64_t seed = 1;          // of the jitter
  bool peers = true;               // see peers.h; needs wake edges
  std::set<Pid> ours = {};         // not followed as peers, though the target wakes them
  // What was tried on ourselves in vain (trials.h) is not used, and limits() says why.
  std::vector<Trial> tried = {};
};

class Session final : public EventSource {
 public:
  // Opens everything, disabled, on all threads. Throws Error (permission, limits) with a hint;
  // TargetGone if the process is not there. What is optional and not permitted goes to limits().
  Session(Pid target, const SessionOptions& options);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Arms all `visits` on all threads. Throws Error with errno ENOSPC when fewer hardware breakpoint
  // registers are free, leaving none of them armed.
  void add(const std::vector<VisitTemplate>& visits);
  // Arms uprobes for all threads, present and future (uprobes.h); where that is not permitted, by
  // an event for each thread and place. When it throws, none of them is armed. `what` is for
  // messages. REQUIRES: each tag below Uprobes::kMostTags.
  void add_uprobes(const std::vector<UprobePlace>& places, const std::string& what);

  void start() override;
  void enable_sampling(bool on) override;
  void set_period(Nanoseconds period_ns) override;
  void set_stack_bytes(unsigned bytes) override;
  void jitter() override;
  std::vector<Event> drain(Nanoseconds now_ns) override;

  // Returns the exact number of hits so far, dead threads included, whatever records were lost. A
  // new thread's hits count from when the drain after its birth has opened its events.
  std::uint64_t count(std::uint32_t tag) const;

  bool target_alive() const override;
  std::vector<ThreadId> threads() const;
  const SessionLimits& limits() const override;
  SessionLosses losses() const override;
  std::optional<std::uint64_t> sample_rate_limit() const override;
  std::vector<std::string> peers() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::perf
