// Finds threads that no shot ever reaches. A thread that blocks SIGTRAP for good, or whose signal
// goes to a handler of the target's own, has to be paused by ptrace. That stops the thread, so that
// other processes can see the ends of its children (docs/safety.md, "Forking targets"). So no
// thread may be taken for one by mistake. A thread blocks all signals while it creates another one,
// while it starts a program (posix_spawn(3)), and in the stub; and a thread that was shot may have
// to wait for a core on its way to the stub. A thread is cleared of suspicion when it enters the
// stub, but not by a mask that admits SIGTRAP: any thread may have such a mask in a call that waits
// for signals. Pure.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::pause {

struct ShotPoll {
  Nanoseconds now_ns = 0;
  bool runs = false;  // or waits for a core (state R of proc(5))
  bool blocks = false;
  bool pending = false;
  std::uint64_t event_count = 0;  // of the shot; it grows until the shot has fired
  // CPU time of the thread, read after the count and late by up to a tick; 0 if unknown.
  Nanoseconds cpu_ns = 0;
};

class Unreached {
 public:
  // Takes one more poll of a thread that owes a pause and has not entered the stub since this
  // object was made. Returns true if no shot brings the thread there.
  bool poll(const ShotPoll& now);

  // A thread is taken to block SIGTRAP for good after kBlockedPolls consecutive polls, over at
  // least kBlockedFor, that found it runnable with SIGTRAP blocked and with new CPU time each time.
  // A fired shot is taken to have gone to another handler once the thread has run for
  // kRunSinceSpent without entering the stub.
  static constexpr int kBlockedPolls = 10;
  static constexpr Nanoseconds kBlockedFor = 200 * kMillisecond;
  static constexpr Nanoseconds kRunSinceSpent = 20 * kMillisecond;

 private:
  int blocked_polls_ = 0;
  Nanoseconds blocked_since_ns_ = 0;
  Nanoseconds blocked_cpu_ns_ = -1;  // at the last of these polls
  // Of the first poll at which the event had this count; -1 if there is none.
  std::uint64_t spent_count_ = 0;
  Nanoseconds spent_cpu_ns_ = -1;
};

}  // namespace causalctl::pause
