// The processes of a recording: what each has mapped and when, how its stacks are unwound, and
// where its addresses are. Shell.
//
// A process that was forked begins with the mappings of its parent; any other with those that /proc
// tells. A process may have ended before its first sample is read: what records tell of it is
// enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/engine/process_list.h"
#include "controller/callpath/engine/still_threads.h"
#include "controller/callpath/places/places.h"
#include "controller/callpath/places/process_places.h"
#include "controller/callpath/record/recording.h"
#include "controller/perf/events.h"
#include "controller/symbols/mappings.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::callpath {

class Processes {
 public:
  using Belongs = std::function<void(ThreadId, std::shared_ptr<ProcessRun>)>;

  // With `belongs`, they are listed in the recording (process_list.h): belongs() is told of which
  // process a thread is, and again after each program that it executes. All must outlive this
  // object.
  Processes(Places& places, Recording& recording, Belongs belongs);

  // A process that is there, before the first event. Throws Error, or TargetGone, if it is the only
  // one and its mappings cannot be read.
  void add(Pid process) { add(process, false); }
  void read_mappings();  // of all, once records flow
  // In time order, each before the recorder takes it.
  void take(const perf::Event& event);
  // Reads mappings again if records were lost, of some processes at a time.
  void lost(std::uint64_t records, Nanoseconds now_ns);
  // Reads what has been added to the names of code that is compiled at run time.
  void read_compiled();
  // Forgets processes of a set without threads, but for the latest. Call it when no event of before
  // is still to come.
  void forget_ended();

  // Whether it is known what the thread's process had mapped at this time.
  bool are_mappings_known(ThreadId thread, Nanoseconds time_ns) const;
  Stacks stacks_of(ThreadId thread);      // of its process
  Pid process_of(ThreadId thread) const;  // 0 if it is not known
  // Returns null if it is not known.
  ProcessPlaces* places_of(Pid process);
  // Returns those whose addresses were asked for last, the latest first.
  const std::vector<Pid>& latest() const { return latest_; }

  void mend_stacks();  // of all, at the beginning

 private:
  struct Process {
    Process(Pid pid, ProcessPlaces of, std::unique_ptr<unwind::Unwinder> by);

    ProcessPlaces places;
    std::unique_ptr<unwind::Unwinder> unwinder;
    symbols::Following<unwind::Unwinder> following;
    symbols::Mappings mappings;
    std::size_t threads = 0;
    std::shared_ptr<ProcessRun> run;   // null in a recording of one process
    std::optional<ThreadId> executed;  // by this thread, another program, which has no name yet
    std::string executed_name;         // the kernel's name of that
    Nanoseconds executed_ns = 0;       // when it was
  };

  Process* find(Pid process);
  Process* find(ThreadId thread);
  void add(Pid process, bool is_born);
  Process& begin(const perf::ThreadStartEvent& start);
  void ended(ThreadId thread, Process& process);
  void executed(const perf::ExecEvent& exec);
  void name_program(Process& process, std::string_view path);

  Places& places_;
  Belongs belongs_;
  ProcessList list_;
  std::map<Pid, std::unique_ptr<Process>> processes_;
  std::map<ThreadId, Pid> process_of_;
  std::vector<Pid> latest_;
  // The oldest first. One may have threads again, by an exec or as a later process of its number.
  std::deque<Pid> ended_;
  std::uint64_t lost_ = 0;  // records, so far
  Pid last_read_ = 0;       // whose mappings were read again
};

}  // namespace causalctl::callpath
