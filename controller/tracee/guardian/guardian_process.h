// The guardian's side of the channel, and what controller and guardian say to each other.
#pragma once

#include <array>
#include <cstdint>

#include "controller/base/helper_process.h"
#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/stop_pauses.h"
#include "controller/tracee/inject/stub.h"

namespace causalctl::tracee {
namespace protocol {

enum class Kind : std::uint32_t {
  adopt,
  launch,
  run_to_entry,  // of a suspended program
  release,
  inject,
  pause,
  collect,
  restore,
  take_over  // of a target in which another guardian, now dead, has left our stub
};

struct Request {
  Kind kind = Kind::adopt;
  Tid tid = 0;  // of adopt, launch, take_over: the pid
  Nanoseconds duration_ns = 0;
  std::uint32_t count = 0;
};

inline constexpr std::size_t kPausesPerResponse = 64;
inline constexpr std::size_t kTouchedThreads = 8;

// There is one for each Request, except for `pause`, which has none, and `launch`, which has two:
// when the child is seized, and when it stands at its first instruction.
struct Response {
  SentError error;
  Injection injection;
  // Of inject, restore: threads that have made system calls for us; the rest is 0.
  std::array<Tid, kTouchedThreads> touched{};
  bool trap_replaced = false;  // see Injector::trap_replaced()
  StoppedCalls stopped_calls;  // of inject, restore: by this guardian so far
  std::uint32_t pause_count = 0;
  std::array<StopPause, kPausesPerResponse> pauses{};
  // Of restore: what could not be undone, one problem in a line. Of adopt: what was tidied up. Of
  // run_to_entry: why it was not done.
  SentText text;
};

}  // namespace protocol

// Runs in the forked child until the controller's end of the channel closes, undoes everything, and
// ends the process.
[[noreturn]] void run_guardian_process(const Channel& controller_end, Pid controller);

}  // namespace causalctl::tracee
