// The set of perf events on all threads of the target, which is a process or several, and the
// merged stream of what they report.
//
// What can be followed for all threads is: switches and wake-ups by BPF programs, births, ends and
// mappings by an event of each core, samples by the clocks of the cores if threads switch often,
// and uprobes. Else each thread has events for it. All of these write into the thread's ring
// (samples with copied stacks have one of their own), as does an event per breakpoint of a progress
// point.
//
// A thread is known from /proc/PID/task at the start, and later from its creator's FORK record; it
// is forgotten after its own EXIT record, when all that was recorded of it is read. Because records
// can be lost, a scan of /proc/PID/task now and then finds what they did not tell. A thread that
// only scans know must be seen by two of them: after one, its FORK record is most likely still to
// come. The same holds for processes, where the set (process_set.h) takes new ones.
//
// Invariants: one ThreadEvents per live tid; a serial is never used twice; counts of ended
// threads are kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/perf/attrs.h"
#include "controller/perf/core_sampling.h"
#include "controller/perf/early_records.h"
#include "controller/perf/event_closer.h"
#include "controller/perf/event_source.h"
#include "controller/perf/events.h"
#include "controller/perf/interrupted_stacks.h"
#include "controller/perf/merge.h"
#include "controller/perf/peers.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/process_set.h"
#include "controller/perf/sampled_hits.h"
#include "controller/perf/scheduler_watch.h"
#include "controller/perf/session_plan.h"
#include "controller/perf/task_records.h"
#include "controller/perf/thread_events.h"
#include "controller/perf/tracepoint.h"
#include "controller/perf/uprobe_place.h"
#include "controller/perf/uprobe_visits.h"

namespace causalctl::perf {

class Session final : public EventSource {
 public:
  // Opens everything, disabled, on all threads. Throws Error (permission, limits) with a hint;
  // TargetGone if the process is not there. What is optional and not permitted goes to limits().
  Session(Pid target, const SessionOptions& options);
  // The same for all processes of the set. Where there can be several, there are no peers, and
  // add_uprobes() and add_call() need an event for each thread. Of several, those whose events may
  // not be opened go to limits(); it throws Error if that leaves none.
  Session(std::shared_ptr<ProcessSet> set, const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Arms all `visits` on all threads. Throws Error with errno ENOSPC when fewer hardware breakpoint
  // registers are free, leaving none of them armed.
  void add(std::vector<VisitTemplate> visits);
  // Arms uprobes for all threads, present and future (uprobes.h); where that is not permitted, by
  // an event for each thread and place. When it throws, none of them is armed. `what` is for
  // messages. REQUIRES: each tag below Uprobes::kMostTags.
  void add_uprobes(const std::vector<UprobePlace>& places, const std::string& what);
  // Counts a system call, by the id of its tracepoint, in all threads; where a BPF program cannot,
  // by an event for each thread. Throws as add(). `what` is for messages.
  void add_call(std::uint64_t tracepoint, std::uint32_t tag, const std::string& what);
  // Lets the events of add() with this tag rest in the present threads, or go on. What they would
  // have counted meanwhile is not in count().
  void enable_visits(std::uint32_t tag, bool on);
  void close_visits(std::uint32_t tag);  // closes these events; their count stays

  void start() override;
  void enable_sampling(bool on) override;
  void set_period(Nanoseconds period_ns) override;
  void set_stack_bytes(unsigned bytes) override;
  // Returns whether rings can hold as many samples with this much stack as they should.
  bool has_room_for(unsigned stack_bytes) const;
  // Takes the clocks that cost less (SessionOptions::clocks), as often as threads have switched
  // since the last call. Samples are different from then on, so call it where nothing is being
  // measured.
  void choose_clocks();
  // Makes threads that leave their cores more often than that since the last call sampled at only
  // some of these times.
  void adapt_leaving(const MostLeaving& most);
  void adapt_events(unsigned most);  // the same of each of SessionOptions::events
  // Leaves the other threads alone, because setting a period interrupts the core on which the
  // thread last ran.
  void jitter() override;
  EventBatch drain(Nanoseconds now_ns) override;

  // Returns the exact number of hits so far, dead threads included, whatever records were lost. A
  // new thread's hits count from when the drain after its birth has opened its events.
  std::uint64_t count(std::uint32_t tag) const;
  // Returns how often an event of SessionOptions::events has happened since the last call, by the
  // samples of it, in the thread in which it did most often.
  std::uint64_t fresh_events(std::uint32_t tag);
  // Returns how often an event of SessionOptions::events has happened so far, dead threads
  // included, while it was open. What a new thread does before the drain after its birth is not in
  // it, unless counts_all_threads().
  std::uint64_t events_counted(std::uint32_t tag) const;
  // Whether such an event is counted in all threads from their births on.
  bool counts_all_threads(std::uint32_t tag) const {
    return sampled_hits_ && sampled_hits_->has(tag);
  }
  // Closes an event in all threads, and opens it again. Returns false where a uprobe cannot be
  // opened any more, as of a process that has ended; what was open stays so.
  void close_events(std::uint32_t tag);
  bool is_closing() const { return closer_.is_busy(); }  // in the background
  bool open_events(std::vector<EventTemplate> events);

  // Whether there is a process, or one may come.
  bool target_alive() const override { return alive_; }
  std::size_t processes() const { return processes_.size(); }
  std::vector<ThreadId> threads() const;
  // The processes that are watched, for BPF programs; with those to come. Throws Error where there
  // are no such programs.
  const std::shared_ptr<ProcessBits>& process_bits();
  bool by_core() const { return cores_.has_value(); }  // the clocks of the cores sample the threads
  // Says how the BPF programs that follow switches and wake-ups were tried; nullopt if they are not
  // wanted.
  const std::optional<Trial>& scheduler_trial() const { return scheduler_trial_; }
  const SessionLimits& limits() const override { return limits_; }
  SessionLosses losses() const override { return losses_; }
  std::optional<std::uint64_t> sample_rate_limit() const override;
  std::vector<std::string> peers() const override { return peers_.names(); }

 private:
  struct Known {
    ThreadId id;
    bool is_peer;  // of another process (peers.h)
  };
  struct Process {
    Nanoseconds first_ended_ns = 0;  // when its first thread did
    std::set<Tid> threads;           // in threads_
    Nanoseconds since_ns = 0;        // when it was followed for the first time
  };
  struct Fork : ForkRecord {
    bool is_late = false;  // told in an earlier drain
  };
  struct Executed {  // a program
    Pid process;     // its first thread's number, too, which the caller has from then on
    Nanoseconds time_ns;
    std::string name;
    bool is_late;  // told in an earlier drain
  };
  struct MappedFile {  // an executable mapping
    Pid process;
    Nanoseconds time_ns;
    std::string path;
  };
  struct Renamed {  // by exec
    Tid from, to;
    Nanoseconds time_ns;
  };

  Session(std::shared_ptr<ProcessSet> set, const SessionOptions& options, SessionPlan plan);
  // Takes the clocks of the cores. If they do not work here, threads have their own from then on,
  // and limits() says why.
  void use_cores();
  void use_threads(const std::string& why);  // not the clocks of the cores, for ever
  void open_cores();                         // may end in the same way
  void leave_cores(const std::string& why);  // for the clocks of threads
  void leave_cores_if_throttled();
  void reopen_cores();  // after a change of SamplingFields, or of the cores that are online
  void reopen_sampling();
  Nanoseconds draw_period();
  // `is_told`: a record has told of its birth.
  bool open_thread(Pid process, Tid tid, ThreadId parent, Nanoseconds start_ns, bool is_told);
  bool open_or_refuse(Pid process, Tid tid, ThreadId parent, Nanoseconds start_ns, bool is_told);
  bool open_at_start(Pid process, Tid tid);
  bool leave_out_if_forbidden(Pid process, const Error& error);
  void count_missed(Pid process);  // a thread that could not be opened
  void require_threads();
  void scan_until_stable();
  void finish(Tid tid, Nanoseconds exit_ns);
  // Whether a process that is not known may be a member.
  bool may_join() const { return set_->takes_children() || set_->is_open(); }
  // Whether a process is watched, or may be; false where a set has no room for it.
  bool may_watch(Pid process);
  void begin_process(Pid process);
  void leave_process(Pid process, Nanoseconds time_ns);
  void drop_of_left(EventBatch& batch, Nanoseconds older_than_ns);
  void keep_counts(const ThreadEvents& events);

  void read(ThreadEvents& events);
  void read_cores();
  // Takes those events out of `events` that a program samples.
  void sample_hits(std::vector<EventTemplate>& events);
  void open_sampled_hits(unsigned stack_bytes);
  void refuse_many_uprobes(const std::string& why_no_program) const;
  void read_sampled_hits();
  bool samples_wakers() const;  // by an event of each thread
  void open_scheduler();
  void open_interrupted();
  bool copies_interrupted() const { return interrupted_ && plan_.sampling.stack_bytes > 0; }
  void complete_samples(EventBatch& batch, Nanoseconds older_than_ns);
  void open_tasks();
  void reopen_tasks();
  void read_tasks();
  void handle_name(const CommRecord& comm);
  void handle_map(const MmapRecord& map);
  void take(Executed exec);
  void join(Executed exec);
  ThreadEvents* caller_of_exec(const Executed& exec);
  std::string file_of(const Executed& exec) const;
  bool after_exec(const Executed& exec, bool is_member);
  void leave_by_exec();
  void handle_task(const Record& record);
  bool handle_end(const ExitRecord& exit);
  void read_scheduler();
  void sample_leaving();
  // Gives those early records whose threads have come, and drops those that are older.
  void give_early(Nanoseconds older_than_ns);
  template <typename Record, typename Give>
  void give_early(EarlyRecords<Record>& early, Nanoseconds older_than_ns, Give&& give);
  void take(CoreSwitch change);
  // Returns whether the threads are known; those that are not may be later.
  bool give(CoreSwitch& change);  // a thread that was known is 0 in it afterwards
  bool give(const CoreWaking& waking);
  std::optional<Known> thread_at(Tid tid, Nanoseconds time_ns) const;
  void handle(ThreadEvents& events, const Record& record);
  void handle_sample(ThreadEvents& events, const SampleRecord& record);
  void handle_event(SampledEvent& event, ThreadId thread, const SampleRecord& record);
  void give_sample(SampleEvent event);
  void take_sample(SampleEvent event);  // of a thread without a serial
  bool give_if_known(SampleEvent& event);
  bool give_if_known(NameEvent& name);
  bool give_if_known(MapEvent& map);
  void handle_wake(ThreadId thread, const SampleRecord& record);
  void give_wake(ThreadId thread, Tid woken, Nanoseconds time_ns, WakeContext context);
  void handle_exec(ThreadEvents& events, Tid tid, Nanoseconds time_ns);
  void exec_by(ThreadEvents& caller, Executed exec);
  void move_renamed();
  void give_hits(Nanoseconds older_than_ns);
  void handle_births(Nanoseconds older_than_ns);
  void take(Fork& fork);
  void handle_fork(const ForkRecord& fork);
  std::map<Tid, Pid> list_threads();  // of the processes of the present
  void find_ended(const std::map<Tid, Pid>& listed, Nanoseconds now_ns);
  void find_unknown(const std::map<Tid, Pid>& listed, Nanoseconds now_ns);
  void forget_ended_processes(const std::map<Tid, Pid>& listed);
  void rescan(Nanoseconds now_ns);

  std::shared_ptr<ProcessSet> set_;
  Pid only_process_;  // 0 if there may be several
  std::map<Pid, Process> processes_;
  std::shared_ptr<ProcessBits> bits_;  // of these; null where no BPF program needs it
  ThreadPlan plan_;
  WakingReader waking_;
  std::mt19937_64 random_;
  std::size_t lockable_pages_;  // of which the rings of all threads must have room
  Merger merger_;
  UprobeVisits uprobes_;
  std::optional<SampledHits> sampled_hits_;  // if there are events that programs can sample
  Peers peers_;
  SessionLimits limits_;
  std::optional<Error> first_refusal_;  // of a process in limits_.forbidden
  SessionLosses losses_;
  bool alive_ = true;

  std::optional<SchedulerWatch> scheduler_;
  std::optional<InterruptedStacks> interrupted_;  // if they are copied
  std::optional<Trial> scheduler_trial_;
  std::optional<TaskRecords> tasks_;  // if threads have no bookkeeping of their own
  // Of threads that are not known yet, because their FORK records were not read.
  EarlyRecords<CoreSwitch> early_switches_;  // of one of the two threads; the other is 0 in it
  EarlyRecords<CoreWaking> early_wakings_;
  EarlyRecords<SampleEvent> early_samples_;  // their threads have no serials
  std::vector<Tid> born_;                    // threads and processes that have come of late

  EventCloser closer_;
  std::map<Tid, ThreadEvents> threads_;
  Clocks clocks_;                      // that may be used from now on
  Nanoseconds period_at_start_ns_;     // by which clocks are chosen
  std::optional<CoreSampling> cores_;  // if they sample the threads
  bool cores_were_throttled_ = false;
  std::uint64_t switches_in_ = 0;  // since counted_since_ns_
  Nanoseconds counted_since_ns_ = 0;
  std::size_t expected_threads_ = 0;
  std::uint32_t last_serial_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> finished_counts_;  // by tag
  std::unordered_map<std::uint32_t, std::uint64_t> closed_events_;    // counts, by tag
  std::set<Tid> refused_;   // listed in /proc, but not to be opened: a dead leader, no resources
  std::set<Tid> suspects_;  // listed at the last scan, and not known

  // What the records of one drain say about threads, until all rings have been read.
  std::vector<Fork> forks_;
  std::vector<ThreadId> exits_;
  EarlyRecords<ExitRecord> early_ends_;  // of threads that are not known yet
  std::vector<Executed> executed_;
  std::vector<Executed> executed_by_own_;  // as events of their threads tell
  std::vector<MappedFile> mapped_files_;   // of late, where processes can join or leave
  EarlyRecords<NameEvent> names_;          // their threads have no serials
  EarlyRecords<MapEvent> early_maps_;      // of processes that are not known yet
  std::vector<Renamed> renamed_;
  std::map<ThreadId, Nanoseconds> left_threads_;  // of processes that are no members from then on
  bool scans_rarely_ = false;
  Nanoseconds next_scan_ns_ = 0;
  Nanoseconds scan_rests_until_ns_ = 0;  // whatever was lost
  bool lost_since_scan_ = false;
};

template <typename Record, typename Give>
void Session::give_early(EarlyRecords<Record>& early, Nanoseconds older_than_ns, Give&& give) {
  // Peers come without being told of.
  plan_.peers ? early.give_all(give) : early.give(born_, give);
  early.drop_older(older_than_ns);
}

}  // namespace causalctl::perf
