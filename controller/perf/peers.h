// Peers are other processes on this machine that the target converses with, as a client or as a
// server. Their threads are followed, too, but only for when they run and which threads they wake:
// what a thread of the target has gained passes through them to the next one (docs/virtual-time.md,
// "Other processes"). Nothing is injected into them, and nothing in them is sampled.
//
// A process is followed, with all its threads, from the scan after it was seen that the target
// often wakes one of them, and that both hold an end of one connection (connections.h), or that it
// wakes threads of the target in turn: that is a conversation, not a message or an accident
// (peer_trials.h). Kernel threads count as devices. A process that may
// not or cannot be followed as a whole is not followed at all: it then belongs to the outside
// world, which runs on the target's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/merge.h"
#include "controller/perf/peer_trials.h"
#include "controller/perf/scheduler_watch.h"
#include "controller/perf/thread_events.h"
#include "controller/perf/tracepoint.h"

namespace causalctl::perf {

class Peers {
 public:
  // Neither the target nor `ours` are ever peers. `may_lock` says that the rings may use as much
  // memory as they like.
  Peers(Pid target, std::set<Pid> ours, WakingFormat waking, bool may_lock);

  // From now on threads are opened, and records flow. With `scheduler`, which outlives this object,
  // it records the switches and wake-ups of those that are followed.
  // `by_tasks` says that exited() and executed() will be told.
  void start(const perf_event_attr& waking, SchedulerWatch* scheduler, bool by_tasks);
  void woken(Tid tid);  // by a thread of the target; `tid` is not one of the target's

  // Reads all rings. Returns how many records were lost. `of_target` tells whether a thread is the
  // target's.
  std::uint64_t read(Merger& merger, const std::function<bool(Tid)>& of_target);
  // Opens new threads and closes those that have ended. `last_serial`, of ThreadIds, is counted up.
  void scan(Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger);

  // Returns the thread, if it is followed and was at that time.
  std::optional<ThreadId> thread_at(Tid tid, Nanoseconds time_ns) const;
  // What events of the cores tell of any thread or process.
  void exited(Tid tid, Nanoseconds time_ns, Merger& merger);
  void executed(Pid process);
  // Returns those that are or were followed, as "name (process 12)".
  std::vector<std::string> names() const;
  // Returns why some are not followed, as found since the last call.
  std::vector<std::string> take_reasons() { return std::exchange(reasons_, {}); }

 private:
  struct Thread {
    Pid process = 0;
    ThreadEvents events;
    Nanoseconds since_ns = 0;  // when it was told of
  };

  std::uint64_t read(Thread& thread, Merger& merger);
  void read_tried(Thread& thread, const std::function<bool(Tid)>& of_target);
  void find_candidates(Nanoseconds now_ns);
  void try_out(Pid process, std::vector<Tid> first);
  void find_peers(Nanoseconds now_ns);
  void admit(Pid process, std::string_view why);
  void leave(Pid process);
  void scan_process(Pid process, std::uint32_t& last_serial, Merger& merger);
  bool open(Pid process, Tid tid, std::uint32_t& last_serial, Merger& merger);
  template <typename Which>
  void close(Nanoseconds now_ns, Merger& merger, Which&& which);
  void refuse(Pid process, std::string_view what, const std::string& cause);

  Pid target_;
  std::set<Pid> none_;  // processes that are not peers, or not any more
  WakingFormat waking_;
  ThreadPlan plan_;
  SchedulerWatch* scheduler_ = nullptr;
  std::size_t most_threads_;
  PeerTrials trials_;
  std::map<Tid, Thread> tried_;  // of processes on trial; only their wake-ups are read
  std::map<Pid, std::string> names_;
  std::map<Pid, unsigned> processes_;  // with how often their records were lost
  // Processes that executed another program: their threads have new numbers.
  std::set<Pid> executed_;
  std::map<Tid, Thread> threads_;
  std::vector<std::string> reasons_;
};

}  // namespace causalctl::perf
