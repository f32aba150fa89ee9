// Does a shot ever reach a thread? One that blocks SIGTRAP for good, or whose signal goes to a
// handler of the target's own, has to be paused another way: by ptrace, which stops the thread, so
// that the ends of its children can be seen by others (docs/safety.md, "Forking targets"). So
// nobody is taken for one who only seems so: a thread blocks all signals while it makes another
// one, while it starts a program (posix_spawn(3)), and in the stub; and a thread that was shot may
// have to wait for a core on its way to the stub. What clears a thread of suspicion is that it
// came to the stub, and not a mask that lets SIGTRAP in: in a call that waits for signals every
// thread may have such a one. Pure.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::pause {

struct ShotPoll {
  Nanoseconds now_ns = 0;
  bool runs = false;  // or waits for a core: state R of proc(5)
  bool blocks = false;
  bool pending = false;
  std::uint64_t event_count = 0;  // of the shot: counts on until it has fired
  // CPU time of the thread, read after the count, late by up to a tick; 0: the kernel does not tell
  Nanoseconds cpu_ns = 0;
};

class Unreached {
 public:
  // One more poll of a thread that owes a pause, and has not come to the stub since this was made.
  // True: the thread is taken for one that no shot brings there.
  bool poll(const ShotPoll& now);

  // A thread is taken to block SIGTRAP for good after kBlockedPolls polls in a row, over at least
  // kBlockedFor, that found it runnable with SIGTRAP blocked and with new CPU time each time. A
  // shot that has fired is taken to have gone to another handler once the thread has run for
  // kRunSinceSpent without coming to the stub.
  static constexpr int kBlockedPolls = 10;
  static constexpr Nanoseconds kBlockedFor = 200 * kMillisecond;
  static constexpr Nanoseconds kRunSinceSpent = 20 * kMillisecond;

 private:
  int blocked_polls_ = 0;
  Nanoseconds blocked_since_ns_ = 0;
  Nanoseconds blocked_cpu_ns_ = -1;  // at the last of these polls
  // Of the first poll at which the event had this count; -1: none.
  std::uint64_t spent_count_ = 0;
  Nanoseconds spent_cpu_ns_ = -1;
};

}  // namespace causalctl::pause
