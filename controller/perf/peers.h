// Other processes on this machine that the target wakes: its clients, or what it is a client of.
// Their threads are followed, too, but only when they run and whom they wake: what a thread of the
// target has gained passes through them to the next one (docs/virtual-time.md, "Other processes").
// Nothing is put into them, and nothing of theirs is sampled.
//
// A process is followed, with all its threads, from the scan after the target has woken it often
// enough: that is a conversation, not a message. Kernel threads are devices. What may not or cannot
// be followed is left out: it is then the outside world, which runs on the target's clock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/merge.h"
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

  // Reads all rings. Returns how many records were lost.
  std::uint64_t read(Merger& merger);
  // Opens what is new, closes what has ended. `last_serial`: of ThreadIds, is counted up.
  void scan(Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger);

  const std::set<Pid>& processes() const { return processes_; }
  // Why some of them are not followed.
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  void find_processes();
  void open(Pid process, Tid tid, Nanoseconds now_ns, std::uint32_t& last_serial, Merger& merger);
  void refuse(Pid process, std::string reason);

  std::set<Pid> none_;  // not, or not any more
  WakingFormat waking_;
  ThreadPlan plan_;
  std::size_t most_threads_;
  std::unordered_map<Tid, std::uint64_t> wakes_;  // of threads that are not followed
  std::set<Pid> processes_;
  std::map<Tid, ThreadEvents> threads_;
  std::vector<std::string> reasons_;
};

}  // namespace causalctl::perf
