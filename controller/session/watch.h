// A process, or a set of processes, that is watched by perf events, from the first look at it to
// its end. Nothing is put into it: the events are kernel objects, which die with causalctl. What
// changes a process is an Intervention (intervention.h).
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "controller/base/ends.h"
#include "controller/base/types.h"
#include "controller/perf/process_set.h"
#include "controller/perf/session.h"
#include "controller/session/children.h"
#include "controller/session/recording.h"
#include "controller/session/target_end.h"
#include "controller/tracee/end_watch.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::session {

class Watch {
 public:
  explicit Watch(Pid process);  // one process, without its children
  // A set. If it is that of a program, whose PID is `program`, the watch is over with the program,
  // whatever else goes on; 0: it is of none.
  Watch(std::shared_ptr<perf::ProcessSet> set, Pid program);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool is_set() const { return is_set_; }
  // The one process, or the program of the set; 0 if there is none.
  Pid process() const { return process_; }
  perf::ProcessSet& set() { return *set_; }

  // Opens events on all threads. Throws as perf::Session does.
  perf::Session& open(const perf::SessionOptions& options);
  // The same, and records how the BPF programs for them were tried.
  perf::Session& open(const perf::SessionOptions& options, Recording& recording);
  perf::Session& events() { return *events_; }
  std::unique_ptr<perf::Session> take_events() { return std::move(events_); }

  // From here to end_work() interrupts are counted; otherwise one ends causalctl at once.
  void begin_work();
  void end_work() { interrupts_.reset(); }
  static int interrupts() { return Interrupts::count(); }  // how often the user asked for the end

  // Whether all processes have ended and none can come, or the program has, a moment ago: what
  // records tell of its last moments has come by then.
  bool is_over();
  bool has_first_thread_ended() { return first_thread_ && first_thread_->has_ended_alone(); }

  // Adds to the recording what the events could not see, and what children of the process did;
  // `command`, such as "causalctl attach", records one of these. REQUIRES: the events are open, and
  // the recording's wall_ns is known.
  void tell_losses(const char* command, Recording& recording) const;
  // Completes the recording with how the process ended (target_end.h). `guardian` may be null.
  void learn_end(tracee::Guardian* guardian, Recording& recording) const;
  const tracee::EndWatch& end() const { return *end_; }  // REQUIRES: there is a process

 private:
  bool is_set_;
  Pid process_;
  std::shared_ptr<perf::ProcessSet> set_;
  std::optional<tracee::EndWatch> end_;
  std::optional<FirstThread> first_thread_;  // of one process
  std::optional<Interrupts> interrupts_;
  std::optional<Children> children_;  // of one process, since the work began
  std::unique_ptr<perf::Session> events_;
  Nanoseconds program_over_ns_ = 0;  // when that was seen first
};

}  // namespace causalctl::session
