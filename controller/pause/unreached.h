// Does a shot ever reach a thread? One that blocks SIGTRAP for good, or whose signal goes to a
// handler of the target's own, has to be paused another way: by ptrace, which holds the thread, so
// that the ends of its children can be seen by others (docs/safety.md, "Forking targets"). So
// nobody is taken for one who only seems so: a thread blocks all signals while it makes another
// one, while it starts a program (posix_spawn(3)), and in the stub; one that waits for signals has
// another mask; and a thread that was shot may have to wait for a core on its way to the stub.
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::pause {

struct ShotLook {
  Nanoseconds now_ns = 0;
  bool runs = false;  // or waits for a core: state R of proc(5)
  bool blocks = false;
  bool pending = false;
  std::uint64_t event_count = 0;  // of the shot: counts on until it has fired
  Nanoseconds cpu_ns = 0;         // CPU time of the thread (schedstat), late by up to a tick
};

class Unreached {
 public:
  // One more look at a thread that is owed a pause and has not come to the stub. True: none of the
  // shots will get it there.
  bool look(const ShotLook& now);

  // As often in a row, and for as long, a running thread must be found to block it; and so much a
  // thread runs after its shot was spent before somebody else must have taken the signal.
  static constexpr int kBlockedLooks = 20;
  static constexpr Nanoseconds kBlockedFor = 200 * kMillisecond;
  static constexpr Nanoseconds kRunSinceSpent = 20 * kMillisecond;

 private:
  int blocked_looks_ = 0;
  Nanoseconds blocked_since_ns_ = 0;
  std::optional<ShotLook> spent_;  // the first look at which the event had this count
};

}  // namespace causalctl::pause
