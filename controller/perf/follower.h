// Keeps the events of a plan open on every thread of one process, and turns what they report into
// one stream.
//
// A thread is known from /proc/PID/task at the start, and later from its creator's FORK record; it
// is forgotten after its own EXIT record, the last that its ring gets. Because records can be lost,
// a scan of /proc/PID/task now and then finds what they did not tell. A thread that only scans know
// must be seen by two of them: after one, its FORK record is most likely still to come.
// Invariants: one ThreadEvents per live tid; a serial is never used twice; counts of ended threads
// are kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/perf/event_closer.h"
#include "controller/perf/event_source.h"
#include "controller/perf/events.h"
#include "controller/perf/merge.h"
#include "controller/perf/peers.h"
#include "controller/perf/thread_events.h"
#include "controller/perf/tracepoint.h"
#include "controller/perf/uprobe_visits.h"

namespace causalctl::perf {

class Follower {
 public:
  // `waking` describes plan.waking, if that is there. `ours` are not followed as peers.
  Follower(Pid target, ThreadPlan plan, WakingFormat waking, std::uint64_t seed,
           std::set<Pid> ours);

  void open_all();  // throws TargetGone if there is no thread to open
  void start();
  void add(std::vector<VisitTemplate> visits);  // on all threads, or on none when it throws
  void add_uprobes(const std::vector<UprobePlace>& places, const std::string& what);
  void enable_sampling(bool on);
  void set_stack_bytes(unsigned bytes);
  void set_period(Nanoseconds period_ns);  // mean; each thread's is drawn around it
  // Draws new periods for the threads that were sampled since the last one. The others are left
  // alone, because setting a period interrupts the core on which the thread last ran.
  void jitter();
  std::vector<Event> drain(Nanoseconds now_ns);

  std::uint64_t count(std::uint32_t tag) const;
  bool alive() const { return alive_; }
  std::vector<ThreadId> threads() const;
  const SessionLosses& losses() const { return losses_; }
  const Peers& peers() const { return peers_; }
  // Why some threads could not be opened.
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  struct Renamed {  // by exec
    Tid from, to;
    Nanoseconds time_ns;
  };

  Nanoseconds draw_period();
  bool open_thread(Tid tid, ThreadId parent, Nanoseconds start_ns);
  bool open_or_refuse(Tid tid, ThreadId parent, Nanoseconds start_ns);
  void scan_until_stable();
  void finish(Tid tid, Nanoseconds exit_ns);

  void read(ThreadEvents& events);
  void handle(ThreadEvents& events, const Record& record);
  void handle_sample(ThreadEvents& events, const SampleRecord& record);
  void handle_wake(ThreadId thread, const SampleRecord& record);
  void handle_exec(ThreadEvents& events, const CommRecord& comm);
  void move_renamed();
  void give_hits(Nanoseconds older_than_ns);
  void handle_fork(const ForkRecord& fork);
  void rescan(Nanoseconds now_ns);

  Pid target_;
  ThreadPlan plan_;
  WakingReader waking_;
  std::mt19937_64 random_;
  bool may_lock_;  // its rings may have as much memory as they like
  Merger merger_;
  UprobeVisits uprobes_;
  Peers peers_;
  SessionLosses losses_;
  std::vector<std::string> reasons_;
  bool alive_ = true;

  EventCloser closer_;
  std::map<Tid, ThreadEvents> threads_;
  std::size_t expected_threads_ = 0;
  std::uint32_t last_serial_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> finished_counts_;  // by tag
  std::set<Tid> refused_;   // listed in /proc, but not to be opened: a dead leader, no resources
  std::set<Tid> suspects_;  // listed at the last scan, and not known

  // What the records of one drain say about threads, until all rings have been read.
  std::vector<ForkRecord> forks_;
  std::vector<ThreadId> exits_;
  std::vector<Renamed> renamed_;
  Nanoseconds next_scan_ns_ = 0;
  bool lost_since_scan_ = false;
};

}  // namespace causalctl::perf
