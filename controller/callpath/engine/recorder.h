// Turns the stream of events into the recording: samples become values of paths, switches become
// waits. Pure, but for what the functions do that it is given.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/engine/edges.h"
#include "controller/callpath/engine/process_list.h"
#include "controller/callpath/engine/table_gaps.h"
#include "controller/callpath/engine/thread_groups.h"
#include "controller/callpath/engine/waits.h"
#include "controller/callpath/engine/wakers.h"
#include "controller/callpath/record/recording.h"
#include "controller/callpath/record/shares.h"
#include "controller/perf/events.h"
#include "unwind/stack/chain.h"

namespace causalctl::callpath {

inline constexpr std::size_t kLongestChain = 1U << 15U;  // of 16-byte frames in half a megabyte

struct RecorderParts {
  // Returns a chain without frames for a thread that has no user code.
  std::function<const unwind::Chain&(const perf::SampleEvent&)> chain;
  std::function<LocationId(Pid, Address, bool is_call)> locate;
  // Returns the name of a thread that has begun.
  std::function<std::string(Pid, Tid)> name_of;
  // Returns what a sample of an event adds to the event's sum.
  std::function<std::uint64_t(const perf::SampleEvent&)> value_of{};
  // Returns the location that stands for what has no code in the process.
  std::function<LocationId(const char* name)> outside{};
  // Returns the locations of the kernel's part of the path, outermost first, valid until the next
  // call.
  std::function<std::span<const LocationId>(const perf::SampleEvent&)> kernel_part{};
};

class Recorder {
 public:
  // `waits`: the time in which threads waited is recorded. The recording must have an epoch.
  Recorder(RecorderParts parts, Grouping grouping, bool waits, Recording& recording);

  // Only what comes later is counted; waits that have begun before have their paths all the same.
  void start(Nanoseconds time_ns);
  void record_wakers();  // from now on, for which samples of wake-ups must come

  void take(const perf::Event& event);  // in time order
  // From now on the thread is of this process. What it has run and waited before without a path
  // counts with the new program, if nothing was recorded of the process with the old one. REQUIRES:
  // that is told of all threads, before they begin, and when their process executes another
  // program; or of none.
  void belongs(ThreadId thread, std::shared_ptr<ProcessRun> process);
  // As Waits::stands_on(), with the call chain that was read.
  void stands_on(ThreadId thread, const unwind::Chain& chain, Nanoseconds read_ns);
  std::vector<ThreadId> without_path(std::size_t most, Nanoseconds now_ns) {  // as Waits has it
    return with_waits_ ? waits_.without_path(most, now_ns) : std::vector<ThreadId>();
  }
  void look(session::Halt halt, Nanoseconds before_ns, Nanoseconds now_ns) {  // as Waits::look()
    waits_.look(halt, before_ns, now_ns);
  }
  // Counts what threads have run and waited so far, and gives what has no sampled path to other
  // paths. The last time, or before a new program, also what a thread without a sample has run.
  void settle(Nanoseconds now_ns, bool is_last = false) { settle_all(now_ns, is_last, is_last); }
  void begin_epoch(Nanoseconds start_ns, const std::string& reason, Nanoseconds now_ns);

  const TableGaps& table_gaps() const { return table_gaps_; }  // of the chains so far
  bool has_seen(std::uint32_t tag) const { return event_sums_.contains(tag); }  // of an event

 private:
  struct ThreadPending {                     // since the last settle()
    std::map<NodeId, std::uint64_t> cpu_ns;  // by samples
    std::map<NodeId, WaitSums> sampled;
    WaitSums others;  // whose path was not sampled
    Wakers wakers;
  };

  struct Process {
    std::size_t threads = 0;
    Edges edges;
  };
  struct GroupCpu {                           // since the last settle()
    std::map<NodeId, std::uint64_t> sampled;  // CPU time, in ns
    std::uint64_t unsampled_ns = 0;           // of threads that have ended
  };

  void begin(const perf::ThreadStartEvent& start);
  void end(const perf::ThreadExitEvent& exit);
  void execute(const perf::ExecEvent& exec);
  Pid process_of(ThreadId thread) const;
  void take_sample(const perf::SampleEvent& sample);
  void take_event(const perf::SampleEvent& sample, NodeId node);
  void take_switch(const perf::SwitchEvent& change);
  void add(const Wait& wait);
  // `of_epoch`: waits without a path are of an epoch that ends, and not kept for one.
  void flush(ThreadId thread, bool is_last = false, bool of_epoch = false);
  void settle_all(Nanoseconds now_ns, bool is_last, bool of_epoch);
  void settle_groups(bool is_last);
  void flush_cpu(ThreadId thread, std::map<NodeId, std::uint64_t>& sampled, bool is_last);
  void flush_wakers(ThreadId thread, Wakers& wakers);
  // Counts the calls of the chain and sets is_complete_, too.
  NodeId path_of(const perf::SampleEvent& sample);
  // Sets path_, too. Where threads are told apart by their start, the chain may tell it.
  NodeId node_of(ThreadId thread, const unwind::Chain& chain);
  NodeId known_part(std::span<const LocationId> path);
  // Returns the node of the sample's path with the kernel's part, below that of the user code.
  NodeId with_kernel_part(NodeId node, const perf::SampleEvent& sample);
  SliceKey key(ThreadId thread, Metric metric);

  RecorderParts parts_;
  Recording& recording_;
  ThreadGroups groups_;
  bool with_waits_;
  std::optional<WakersWithoutPath> wakers_;  // if wakers are recorded
  Waits waits_;
  Nanoseconds start_ns_ = 0;
  std::map<ThreadId, ThreadPending> pending_;
  std::map<std::uint32_t, GroupCpu> group_cpu_;
  std::map<ThreadId, Pid> process_of_;
  std::map<Pid, Process> processes_;  // with threads
  bool several_ = false;              // threads belong to Recording::processes
  TableGaps table_gaps_;
  std::map<std::uint32_t, std::uint64_t> event_sums_;  // of values in the whole recording, by tag
  std::vector<LocationId> path_;                       // of the present sample, outermost first
  std::size_t kept_inner_ = 0;  // frames of its chain below those that are left out
  bool is_cut_ = false;         // there was no room in the tree for all of it
  std::vector<bool> is_new_;
  bool is_complete_ = false;  // whether it reaches the outermost frame
};

}  // namespace causalctl::callpath
