// A target from the first look at it to the detach, whatever is done with it meanwhile. The order
// is what keeps the target safe:
//
//   1. everything that can be wrong with the request is found out before anything is put into the
//      target: the progress points exist, perf events fire on this machine; its owner sees to what
//      else there is, such as whether a log can be written   (the constructor, try_facilities)
//   2. perf events on all threads, progress points armed: kernel objects that die with us  (attach)
//   3. the pause channel, where there is one: the only thing that is put into the target
//      (open_pauses)
//   4. the work, in real-time priority where permitted       (begin_work)
//   5. the pause channel's events closed, then the guardian takes the stub out again, while all
//      other events are closed; then the digest of the target's state is compared with that of
//      before                                                (detach)
//
// The calls are made in this order. When an exception ends the work instead, the destructor closes
// the pause channel's events, then all others; the guardian, which outlives this object, then
// undoes what is in the target.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "controller/base/cpu_limits.h"
#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/pause/pauser.h"
#include "controller/perf/session.h"
#include "controller/progress/counted.h"
#include "controller/session/arm_points.h"
#include "controller/session/interrupts.h"
#include "controller/session/recording.h"
#include "controller/session/target_end.h"
#include "controller/tracee/end_watch.h"
#include "controller/tracee/guardian/guardian.h"
#include "unwind/symbolizer.h"

namespace causalctl::session {

inline constexpr const char* kGuardianKilled =
    "something killed the guardian process, so the run was ended early";
inline constexpr const char* kGuardianKilledAtEnd =
    "something killed the guardian process while it undid what it had done to the target; another "
    "one was to go on";

class Attachment {
 public:
  // Finds the progress points, and fills in whose recording this is: all but seed and
  // configuration. Throws UsageError as progress::resolve() does. The guardian has adopted the
  // target; it and the recording outlive this object.
  Attachment(Pid target, tracee::Guardian& guardian, const config::Progress& progress,
             Recording& recording);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // As session::try_facilities().
  void try_facilities(std::string_view wanted);

  // `options`: what was tried, and which processes are ours, is added. From here on interrupts are
  // counted. Throws Error as perf::Session and progress::arm() do.
  void attach(perf::SessionOptions options);
  // Throws Error where no channel can pause the target.
  const pause::PauserChoice& open_pauses(const pause::PauserOptions& options);
  void begin_work();
  // Closes the pause channel's events: from here on no shot can fire. For a work that fails, before
  // anything is destroyed that takes long.
  void close_pauses() { pauses_.pauser.reset(); }
  // Completes the recording: what has become of the target, and what was lost.
  // REQUIRES: its wall_ns and reason are known.
  void detach();

  unwind::Symbolizer& symbolizer() { return *symbolizer_; }
  // For the thread that symbolizes from now on.
  std::unique_ptr<unwind::Symbolizer> take_symbolizer() { return std::move(symbolizer_); }
  const progress::CountedPoints& points() const { return points_; }
  const Armory& armory() const { return armory_; }
  perf::Session& events() { return *session_; }
  // How often the user asked for the end; at least once where the guardian was killed.
  int interrupts() const;
  bool first_thread_ended() { return first_thread_.has_ended_alone(); }
  CpuLimits cpu_limits() { return cpu_limits_->poll(); }
  void let_go();  // a program that is suspended goes on; any other already does

 private:
  void warn_of_losses();
  std::vector<std::string> restore();
  void compare_digests(const std::vector<std::string>& left);

  Pid target_;
  tracee::Guardian& guardian_;
  config::CountBy count_by_;
  Recording& recording_;
  tracee::EndWatch end_watch_;
  std::unique_ptr<unwind::Symbolizer> symbolizer_;
  progress::CountedPoints points_;
  std::vector<Address> places_;  // of all points
  std::vector<Trial> tried_;
  FirstThread first_thread_;
  tracee::Digest before_;
  // In this order, so that they go in the other one.
  std::optional<Interrupts> interrupts_;
  std::unique_ptr<perf::Session> session_;
  Armory armory_;
  pause::PauserChoice pauses_;
  std::optional<CpuLimitsOf> cpu_limits_;  // since the begin of the work
};

}  // namespace causalctl::session
