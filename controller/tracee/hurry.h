// Makes a thread of the target, and the guardian with it, run before others for as long as the
// object lives, so that a stop is short on a machine without an idle core as well: from stop to
// detach the thread has to get a core eight times, and each time would else wait for a time slice.
//
// SCHED_FIFO at its lowest priority, on the guardian and on the stopped thread, then back to what
// was there: policy, reset-on-fork, and the timer slack, which the kernel forgets on the way.
// Needs CAP_SYS_NICE; without it, or for a thread with a real-time policy of its own, nothing
// happens. Nothing inherits it: the thread executes nothing of its own meanwhile but the few
// instructions up to its stop, and what it starts in these is reset by the kernel. A guardian that
// is itself killed in this time (see stopped_thread.h) leaves the policy behind; what was there is
// noted beside the stub (left_stub.h), and the next causalctl puts it back.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::tracee {

// How a thread was scheduled before it was hurried. Lies in the target's memory, so not to be
// believed without a look.
struct Unhurried {
  std::uint64_t tid = 0;  // 0: none
  std::int64_t policy = 0;
  std::uint64_t timer_slack_ns = 0;
};

// nullopt: gone, or of a policy that Hurry leaves alone.
std::optional<Unhurried> unhurried(Tid tid);

// Of a thread of `pid` that was left with exactly what Hurry sets: back to this. Else nothing
// happens.
void put_back(Pid pid, const Unhurried& before);

// Of a process that ends, as its first thread shows: what is left of it runs before others for
// good. Threads of low priority else keep its files open for seconds where cores are taken. Without
// CAP_SYS_NICE, or where it does not end, nothing happens.
void hurry_end_of(Pid pid);

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
  std::optional<Unhurried> before_;  // to go back to; nullopt: nothing was changed
};

}  // namespace causalctl::tracee
