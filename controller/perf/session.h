// The set of perf events on all threads of one target, and the merged stream of what they report.
//
// Each thread has one ring, into which all of its events write: samples (task-clock), switches,
// task records, wake edges (sched:sched_waking) and one event per progress point. New threads are
// followed by FORK records and a look into /proc/PID/task, so that a thread is never counted twice
// and its serial is never reused.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"

namespace causalctl::perf {

// An event to be opened on every thread, present and future, whose records become VisitEvents with
// this tag: how progress points (breakpoint, uprobe, tracepoint) are armed.
struct VisitTemplate {
  // type, config, bp_*; the session adds sampling fields and clock. What it points to (the path of
  // a uprobe) must live as long as the session.
  perf_event_attr attr{};
  std::uint32_t tag = 0;
  std::string what;    // for messages: "breakpoint at main.c:12"
  std::string filter;  // tracepoint filter (PERF_EVENT_IOC_SET_FILTER), may be empty
};

struct SessionOptions {
  Nanoseconds period_ns = kMillisecond;
  bool kernel_samples = true;      // charged to the user code that made the call
  bool wake_edges = true;          // sched:sched_waking
  unsigned call_chain_depth = 32;  // 0: address only
  unsigned stack_bytes = 0;        // > 0: copy registers and this much stack (multiple of 8)
  std::uint64_t seed = 1;          // of the jitter
};

// What of the options could not be had, and why; shown in the report.
struct SessionLimits {
  bool kernel_samples = true;
  bool wake_edges = true;
  std::vector<std::string> reasons;
};

struct SessionLosses {
  std::uint64_t records_lost = 0;
  std::uint64_t throttles = 0;
  std::uint64_t stacks_truncated = 0;
  std::uint64_t threads_missed = 0;  // died before their events were open
};

class Session {
 public:
  // Opens everything, disabled, on all threads. Throws Error (permission, limits) with a hint;
  // TargetGone if the process is not there. What is optional and not permitted goes to limits().
  Session(Pid target, SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Arms `visit` on all threads. Throws Error with errno ENOSPC when no hardware breakpoint
  // register is free, leaving nothing armed.
  void add(const VisitTemplate& visit);

  void start();                            // from now on records flow
  void enable_sampling(bool on);           // samples only; all else goes on
  void set_period(Nanoseconds period_ns);  // mean period; each thread's is jittered around it
  void set_stack_bytes(unsigned bytes);    // reopens the sampling events
  void jitter();  // new periods for threads that were sampled (DCPI §4.1.1)

  // Everything that happened before now - guard, in time order, each event once. New threads are
  // opened, dead ones closed, within the call. A record that the kernel published later than the
  // guard allows for comes first in the next drain.
  std::vector<Event> drain(Nanoseconds now_ns);

  // Exact number of hits so far, dead threads included, whatever records were lost. A new thread's
  // hits count from when the drain after its birth has opened its events.
  std::uint64_t count(std::uint32_t tag) const;

  bool target_alive() const;
  std::vector<ThreadId> threads() const;
  const SessionLimits& limits() const;
  SessionLosses losses() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::perf
