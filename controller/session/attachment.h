// A target from the first check of it to the detach, for any kind of work: a watch of it, its
// progress points, and what changes it. The order of the steps keeps the target safe:
//
//   1. The constructor and try_facilities() check that the progress points exist and that perf
//      events fire on this machine, before anything is put into the target. The owner checks what
//      can be wrong besides, such as whether a log can be written.
//   2. attach() takes the digest of the target's state, opens perf events on all threads and arms
//      the progress points. These are kernel objects that die with causalctl. From here to the
//      detach the calling thread comes to a core before those of the target (precedence.h).
//   3. open_pauses() opens the pause channel, if the work needs one. Nothing more is put into the
//      target.
//   4. begin_work() begins the work.
//   5. detach() closes the pause channel's events. Then the guardian takes the stub out, while all
//      other events are closed. At last the digest of the target's state is compared with that of
//      before.
//
// The calls are made in this order. If an exception ends the work, abandon() or the destructor
// closes the pause channel's events. The guardian, which outlives this object, undoes what is in
// the target.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "controller/base/cpu_limits.h"
#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/pause/pauser.h"
#include "controller/perf/session.h"
#include "controller/session/armed_points.h"
#include "controller/session/intervention.h"
#include "controller/session/precedence.h"
#include "controller/session/recording.h"
#include "controller/session/watch.h"
#include "controller/tracee/guardian/guardian.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::session {

class Attachment {
 public:
  // Throws Error as Precedence does. Finds the progress points, and fills in which target the
  // recording is of, except for seed and configuration. Throws UsageError as progress::resolve()
  // does. REQUIRES: the guardian has adopted the target; it and the recording outlive this object.
  Attachment(Pid target, tracee::Guardian& guardian, const config::Progress& progress,
             Recording& recording);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Does what session::try_facilities() does, and records the outcome.
  void try_facilities(std::string_view wanted);

  // Adds to `options` what was tried and which processes are ours. Throws Error as perf::Session
  // and progress::arm() do.
  void attach(perf::SessionOptions options);
  // Throws Error if no channel can pause the target.
  const pause::PauserChoice& open_pauses(const pause::PauserOptions& options) {
    return intervention_.open_pauses(options, watch_.end());
  }
  // From here on interrupts are counted. Before, one ends the process at once, and the guardian
  // takes what is in the target out of it.
  void begin_work();
  // Takes what is in the target out of it. If the work fails, call it before anything that takes
  // long is destroyed.
  void abandon() { intervention_.abandon(); }
  // Completes the recording with what has become of the target, and with what was lost.
  // REQUIRES: its wall_ns and reason are known.
  void detach();

  unwind::Symbolizer& symbolizer() { return *symbolizer_; }
  // Returns the symbolizer, for the thread that symbolizes from now on.
  std::unique_ptr<unwind::Symbolizer> take_symbolizer() { return std::move(symbolizer_); }
  ArmedPoints& points() { return points_; }
  perf::Session& events() { return watch_.events(); }
  // Returns how often the user asked for the end; at least 1 if the guardian was killed, if a file
  // in which breakpoints stand was unloaded, or if threads of the target may keep causalctl from
  // the cores.
  int interrupts();
  bool first_thread_ended() { return watch_.has_first_thread_ended(); }
  CpuLimits cpu_limits() { return cpu_limits_->poll(); }
  void let_go();  // lets a suspended program go on

 private:
  Pid target_;
  tracee::Guardian& guardian_;
  Recording& recording_;
  std::unique_ptr<unwind::Symbolizer> symbolizer_;
  std::vector<Trial> tried_;
  std::optional<CpuLimitsOf> cpu_limits_;  // read since the work began
  // The members stand in this order so that they are destroyed in the opposite one.
  Precedence precedence_;
  Watch watch_;
  ArmedPoints points_;
  Intervention intervention_;
};

}  // namespace causalctl::session
