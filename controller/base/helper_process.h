// A helper process: a fork of this one that works for it at the other end of a socket pair.
//
// The fork has everything that this process has: files, signal handlers, a terminal. settle()
// leaves it what a helper needs. Both are the same program, so a message is a struct that goes over
// as it is, in one packet (SOCK_SEQPACKET). However one of them ends, the kernel closes its end of
// the socket, and the other one finds that out: by a receive() that fails, by is_closed(), or by
// poll(2) on the descriptor.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl {

// A text in a message. What does not fit is cut off.
struct SentText {
  std::array<char, 1024> bytes{};  // ends with a 0

  void set(std::string_view text);
  const char* c_str() const { return bytes.data(); }
};

// An exception in a message.
struct SentError {
  ExitCode code = ExitCode::ok;  // ok: there is none
  std::int32_t error_number = 0;
  SentText what;
  SentText hint;

  void set(const std::exception& error);
  // Throws it as if it had happened here, with `prefix` before its text, if there is one.
  void rethrow(std::string_view prefix = {}) const;
};

// One end of the socket pair.
class Channel {
 public:
  explicit Channel(Fd socket = {}) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  bool is_closed() const;  // by the other process
  void close() { socket_.reset(); }

  // Returns false where the message was not sent; errno says why. The other end is closed (EPIPE,
  // ECONNRESET), or what may pass, an interruption or a lack of memory, did not in three tries.
  template <typename Message>
  [[nodiscard]] bool send(const Message& message) const {
    static_assert(std::is_trivially_copyable_v<Message>);
    return send_bytes(std::as_bytes(std::span(&message, 1)));
  }

  // Takes the next message; waits for it unless `flags` has MSG_DONTWAIT. Returns false where there
  // is none; errno says why, and is 0 where the other end is closed.
  template <typename Message>
  [[nodiscard]] bool receive(Message& message, int flags = 0) const {
    static_assert(std::is_trivially_copyable_v<Message>);
    return receive_bytes(std::as_writable_bytes(std::span(&message, 1)), flags);
  }

  // Waits until receive() would not wait. Returns false after the deadline or a signal.
  bool wait_until(Nanoseconds deadline_ns) const;

 private:
  bool send_bytes(std::span<const std::byte> bytes) const;
  bool receive_bytes(std::span<std::byte> bytes, int flags) const;

  Fd socket_;
};

class HelperProcess {
 public:
  using Body = std::function<void(Channel& to_parent, Pid parent)>;

  // Forks a process that runs `body` and ends with the exit status 0 after it. What `body` throws
  // leaves this constructor in the helper. Throws Error: "cannot start WHAT: fork: ...".
  HelperProcess(std::string_view what, const Body& body);

  Pid pid() const { return pid_; }
  Channel& channel() { return channel_; }
  const Channel& channel() const { return channel_; }

  // Wait for its end and reap it. Return its status as wait(2) gives it (0 where another has reaped
  // it), also when they are called again; nullopt where it does not end in this time.
  std::optional<int> ended_within(Nanoseconds limit_ns);
  int wait_for_end();

 private:
  Pid pid_ = 0;
  std::optional<int> status_;  // once it is reaped, and its number may be another process's
  Channel channel_;  // its end is the sign for the helper to end; nothing here waits for that
};

// What a helper keeps of what it was forked with.
struct HelperLife {
  const char* name = "";        // comm: 15 characters at most
  std::vector<int> ignored{};   // signals
  std::vector<int> watched{};   // signals that are read from what settle() returns; blocked
  int first_thread_signal = 0;  // sent to it when the first thread of its parent ends; 0: none
  std::vector<int> kept{};      // descriptors; any other of 0, 1, 2 becomes /dev/null
  // A session is a scheduling group (autogroup), in which a helper that works much may get too
  // little of a core beside a busy target. In ours it has a process group of its own.
  bool in_our_session = false;
};

// Makes the calling process a helper in a session, or a process group, of its own, where no signal
// of the terminal's keys reaches it. SIGCHLD has its default action. Returns a signalfd(2) that
// does not block. Throws Error where a descriptor cannot be opened. REQUIRES: the process has one
// thread.
Fd settle(const HelperLife& life);

// Makes the kernel send `signal` to the calling process at the end of `parent`; exits where that
// has ended already.
void end_with(Pid parent, int signal);

// Calls `become`, which executes another program. What it throws is sent to the parent as a
// SentError; a successful exec closes the channel instead.
[[noreturn]] void execute_or_tell(const Channel& to_parent, const std::function<void()>& become);

}  // namespace causalctl
