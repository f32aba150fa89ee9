// What controller and guardian say to each other over a SOCK_SEQPACKET socket pair. Both are the
// same program, forked, so structs go over as they are. One Response for each Request, except
// `pause`, which has none, and `launch`, which has two: when the child is seized, and when it
// stands at its first instruction.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "controller/base/error.h"
#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::tracee::protocol {

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
  Tid tid = 0;  // adopt, launch, take_over: the pid
  Nanoseconds duration_ns = 0;
  std::uint32_t count = 0;
};

inline constexpr std::size_t kPausesPerResponse = 64;
inline constexpr std::size_t kTextSize = 1024;
inline constexpr std::size_t kTouchedThreads = 8;

struct Response {
  ExitCode code = ExitCode::ok;  // else an error: what, hint and error_number tell it
  std::int32_t error_number = 0;
  Injection injection;
  // Of inject, restore: threads that have made system calls for us; 0: no more.
  std::array<Tid, kTouchedThreads> touched{};
  bool trap_replaced = false;  // see Injector::trap_replaced()
  StoppedCalls stopped_calls;  // of inject, restore: by this guardian so far
  std::uint32_t pause_count = 0;
  std::array<StopPause, kPausesPerResponse> pauses{};
  // Of restore: what could not be undone, one a line. Of adopt: what was tidied up. Of
  // run_to_entry: why it was not done.
  std::array<char, kTextSize> what{};
  std::array<char, kTextSize> hint{};
};

static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Response>);

// False: errno says why; the other end is gone (EPIPE, ECONNRESET), or what may pass, an
// interruption or a lack of buffers, did not in a few tries.
template <typename Message>
[[nodiscard]] bool send_message(int socket, const Message& message) {
  constexpr int tries = 3;
  for (int i = 0; i < tries; ++i) {
    if (::send(socket, &message, sizeof message, MSG_NOSIGNAL) == sizeof message) return true;
    if (errno == EPIPE || errno == ECONNRESET) return false;
  }
  return false;
}

}  // namespace causalctl::tracee::protocol
