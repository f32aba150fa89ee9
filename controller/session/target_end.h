// Notices how a target ends while it is profiled, and says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/session/recording.h"
#include "controller/tracee/end_watch.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::session {

// Tells whether the first thread has ended although others go on. While a process ends, that is so
// for a moment, so two polls must find it.
class FirstThread {
 public:
  explicit FirstThread(Pid target) : target_(target) {}

  bool has_ended_alone();

 private:
  Pid target_;
  Nanoseconds next_ns_ = 0;
  int polls_ = 0;
};

bool has_first_thread_ended(Pid target);  // at this moment

// Throws TargetGone if there is no such process, and Error if it is a kernel thread or if its first
// thread has ended.
void require_program(Pid target);

std::string text_of(const Death& death);
// Says how many runs of one program signals have ended, and how the one ended that did so soonest
// after a pause. REQUIRES: `deaths` is not empty.
std::string text_of(const std::vector<Death>& deaths, std::uint64_t runs);

// Returns, for a target that a signal ended, how a uprobe may be the cause; empty if none counted,
// or if the signal cannot be due to one.
std::string uprobe_as_cause(const Death& death, const std::vector<Counting>& counting);

// Fills in the signal that ended a target during the recording; resets recording.death if none did.
// Warns of an exit status other than 0. Waits for up to some tenths of a second, because the
// target's parent may not have waited for it yet, or the kernel may not be done with it. `guardian`
// is that of a program that was started; it may be null.
void learn_end(tracee::Guardian* guardian, const tracee::EndWatch& watch, Recording& recording);
// Does the same for a target that was paused, and warns of the signal.
void tell_end(tracee::Guardian& guardian, const tracee::EndWatch& watch, Recording& recording);

// Throws `gone` again, with the signal that ended the target, and a uprobe as its possible cause.
[[noreturn]] void throw_with_cause(const TargetGone& gone, tracee::Guardian& guardian,
                                   const tracee::EndWatch& watch,
                                   const std::vector<Counting>& counting);

}  // namespace causalctl::session
