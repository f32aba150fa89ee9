// Peers: other processes on this machine that the target wakes, its clients, or what it is a client
// of. Their threads are followed, too, but only when they run and whom they wake: what a thread of
// the target has gained passes through them to the next one (docs/virtual-time.md, "Other
// processes"). Nothing is put into them, and nothing of theirs is sampled.
//
// A process is followed, with all its threads, from the scan after it was seen that the target has
// woken one of them often in a short time, and that it wakes threads of the target in turn: that is
// a conversation, not a message, and no accident (peer_trials.h). Kernel threads are devices. A
// process that may not or cannot be followed as a whole is not followed at all: it is then the
// outside world, which runs on the target's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/merge.h"
#include "controller/perf/peer_trials.h"
#include "controller/perf/thread_events.h"
#include "controller/perf/tracepoint.h"

namespace causalctl::perf {

class Peers {
 public:
  // `none`: processes that are no peers, whoever wakes them. `may_lock`: the rings may have as much
  // memory as they like.
  Peers(std::set<Pid> none, WakingFormat waking, bool may_lock);

  void start(const perf_event_attr& waking);  // from now on threads are opened, and records flow
  void woken(Tid tid);  // by a thread of the target, which is not itself one of these

  // Reads all rings. Returns how many records were lost. `of_target`: whether it is a thread of it.
  std::uint64_t read(Merger& merger, const std::function<bool(Tid)>& of_target);
  // Opens what is new, closes what has ended. `last_serial`: of ThreadIds, is counted up.
  void scan(Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger);

  // Those that are or were followed: "name (process 12)".
  std::vector<std::string> names() const;
  // Why some are not followed; each cause once.
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  struct Thread {
    Pid process = 0;
    ThreadEvents events;
  };

  std::uint64_t read(Thread& thread, Merger& merger);
  void read_tried(Thread& thread, const std::function<bool(Tid)>& of_target);
  void find_candidates(Nanoseconds now_ns);
  void try_out(Pid process, std::vector<Tid> first);
  void find_peers(Nanoseconds now_ns);
  void scan_process(Pid process, Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger);
  bool open(Pid process, Tid tid, Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger);
  template <typename Which>
  void close(Nanoseconds now_ns, Merger& merger, Which&& which);
  void refuse(Pid process, std::string_view what, const std::string& cause);

  std::set<Pid> none_;  // not, or not any more
  WakingFormat waking_;
  ThreadPlan plan_;
  std::size_t most_threads_;
  PeerTrials trials_;
  std::map<Tid, Thread> tried_;  // of processes on trial: only whom they wake
  std::map<Pid, std::string> names_;
  std::map<Pid, unsigned> processes_;  // and how often records of theirs were lost
  std::set<Pid> executed_;             // other programs: their threads have changed their numbers
  std::map<Tid, Thread> threads_;
  std::vector<std::string> reasons_;
};

}  // namespace causalctl::perf
