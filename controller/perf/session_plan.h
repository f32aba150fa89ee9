// What is wanted of a session, and what of that the kernel lets us have.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/perf/event_source.h"
#include "controller/perf/thread_events.h"
#include "controller/perf/tracepoint.h"

namespace causalctl::perf {

// Whose clocks sample the threads.
enum class Clocks : std::uint8_t {
  threads,
  cores,   // if that works here, and threads have no events besides; otherwise those of the threads
  cheaper  // those of the threads, until they switch so often that those of the cores cost less
};

// How many samples of its switches a thread may have; by BPF programs at each place where it leaves
// its core (leaving_samples.h).
struct MostLeaving {
  unsigned of_thread = 0, at_place = 0;
};

struct SessionOptions {
  // Where this is false, only progress points and the birth and death of threads are followed: a
  // thread costs nothing but its visits, and the options of sampling mean nothing.
  bool sampling = true;
  Nanoseconds period_ns = kMillisecond;
  bool wake_edges = true;          // sched:sched_waking
  unsigned call_chain_depth = 32;  // 0: address only
  unsigned stack_bytes = 0;        // > 0: copy registers and this much stack (multiple of 8)
  bool leaving = false;            // sample threads that leave their core; needs stack_bytes
  bool kernel_chain = false;  // SampleEvent::kernel, of samples of CPU time and of those that leave
  Clocks clocks = Clocks::threads;
  std::vector<EventTemplate> events = {};  // sampled besides; they need stack_bytes
  // Sample wake-ups that the threads make, too (SampleReason::waking); needs wake edges.
  bool wakers = false;
  std::uint64_t seed = 1;   // of the jitter
  bool peers = true;        // see peers.h; needs wake edges
  std::set<Pid> ours = {};  // not followed as peers, though the target wakes them
  // Follow births, ends and mappings by events of the cores, if that works, where nothing is
  // sampled: then a thread costs nothing at all.
  bool tasks = false;
  // Follow switches and wake-ups by BPF programs, if that is seen to work (scheduler_watch.h).
  bool scheduler = true;
  // What was tried on ourselves in vain (trials.h) is not used. limits() says why, if what was
  // asked for lacks something by it.
  std::vector<Trial> tried = {};
};

struct SessionPlan {
  ThreadPlan threads;
  WakingFormat waking;  // describes threads.waking, if that is there
  SessionLimits limits;
};

// Takes back those of the options that the kernel does not let us have. Throws Error if an event
// cannot be opened for another reason.
SessionPlan plan_session(const SessionOptions& options);

}  // namespace causalctl::perf
