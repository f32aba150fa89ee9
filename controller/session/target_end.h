// How a target ends while it is profiled, and what is said of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/session/recording.h"
#include "controller/tracee/end_watch.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::session {

// While a process ends its first thread may be dead before others: two polls must find that.
class FirstThread {
 public:
  explicit FirstThread(Pid target) : target_(target) {}

  bool has_ended_alone();

 private:
  Pid target_;
  Nanoseconds next_ns_ = 0;
  int polls_ = 0;
};

std::string first_thread_ended(Pid target);  // why it cannot be profiled further

std::string text_of(const Death& death);
// Of runs of one program, some of which signals have ended: how many, and of the one that ended the
// soonest after a pause, how. REQUIRES: there is one.
std::string text_of(const std::vector<Death>& deaths, std::uint64_t runs);

// Completes recording.death, if there is one, by the signal, and warns of it; resets it where no
// signal ended the target. Waits for some tenths of a second, as the target's parent may not have
// waited for it yet, and the kernel not be done with it.
void tell_death(tracee::Guardian& guardian, const tracee::EndWatch& watch, Recording& recording);

}  // namespace causalctl::session
