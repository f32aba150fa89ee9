// Makes a thread of the target, and the guardian with it, run before others for as long as the
// object lives, so that a stop is short on a machine without an idle core as well: from stop to
// detach the thread has to get a core eight times, and each time would else wait for a time slice.
//
// SCHED_FIFO at its lowest priority, on the guardian and on the stopped thread, then back to what
// was there: policy, reset-on-fork, and the timer slack, which the kernel forgets on the way.
// Needs CAP_SYS_NICE; without it, or for a thread with a real-time policy of its own, nothing
// happens. Nothing inherits it: the thread executes nothing of its own meanwhile but the few
// instructions up to its stop, and what it starts in these is reset by the kernel. A guardian that
// is itself killed in this time (see stopped_thread.h) leaves the policy behind.
#pragma once

#include <optional>
#include <string>

#include "controller/base/types.h"

namespace causalctl::target {

class Hurry {
 public:
  explicit Hurry(Tid tid);  // 0: the calling process
  Hurry(Hurry&& other) noexcept;
  Hurry& operator=(Hurry&&) = delete;
  Hurry(const Hurry&) = delete;
  Hurry& operator=(const Hurry&) = delete;
  ~Hurry() { end(); }

  void end();

 private:
  Tid tid_;
  std::optional<int> policy_;  // to go back to; nullopt: nothing was changed
  std::string timer_slack_;
};

}  // namespace causalctl::target
