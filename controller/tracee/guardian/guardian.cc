#include "controller/tracee/guardian/guardian.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/tracee/digest.h"
#include "controller/tracee/freezer.h"
#include "controller/tracee/guardian/guardian_process.h"
#include "controller/tracee/guardian/guardian_protocol.h"
#include "controller/tracee/guardian/launch.h"
#include "controller/tracee/process.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {
namespace {

using protocol::Kind;
using protocol::Request;
using protocol::Response;

// Throws the guardian's error as if it had happened here.
void rethrow(const Response& response) {
  if (response.code == ExitCode::ok) return;
  std::string what = response.what.data();
  const std::string hint = response.hint.data();
  if (response.code == ExitCode::target_gone) throw TargetGone(what, hint);
  if (response.code == ExitCode::usage) throw UsageError(what, hint);
  if (response.error_number == 0) throw Error(what, hint, response.code);
  const auto reason = ": " + std::generic_category().message(response.error_number);
  if (what.ends_with(reason)) what.resize(what.size() - reason.size());
  throw Error::from_errno(what, response.error_number, hint, response.code);
}

}  // namespace

struct Guardian::Impl {
  Fd socket;
  Pid helper = 0;
  Pid target = 0;
  bool launched = false;
  bool released = false;  // … and no longer before its first instruction
  std::optional<int> exit_status;
  Involvement involvement;
  std::vector<std::string> problems;  // for restore() to tell
  bool may_be_injected = false;
  std::size_t pauses_in_flight = 0;
  bool helper_was_killed = false;
  StoppedCalls calls_of_helper;
  StoppedCalls calls_of_killed;  // … helpers before it, as far as they told

  void start_helper() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      throw Error::from_errno("cannot start the guardian process: socketpair", errno);
    }
    socket = Fd(ends[0]);
    Fd helper_end(ends[1]);
    const Pid controller = getpid();
    helper = fork();
    if (helper < 0) throw Error::from_errno("cannot start the guardian process: fork", errno);
    if (helper == 0) run_guardian_process(helper_end.get(), controller);
  }

  bool helper_is_alive() const {
    pollfd end{socket.get(), 0, 0};
    return poll(&end, 1, 0) <= 0 || (end.revents & (POLLHUP | POLLERR)) == 0;
  }

  // Of a helper that was killed: another one does what it would have done.
  void replace_helper() {
    log::note("the guardian process {} was killed; another one undoes what it did", helper);
    wait_for_helper();
    pauses_in_flight = 0;
    helper_was_killed = true;
    calls_of_killed += std::exchange(calls_of_helper, {});
    start_helper();
    ask({.kind = Kind::take_over, .tid = target});
  }

  void send(const Request& request) {
    if (!protocol::send_message(socket.get(), request)) failed("send");
  }

  Response receive() {
    Response response;
    ssize_t size = 0;
    do {
      size = recv(socket.get(), &response, sizeof response, 0);
    } while (size < 0 && errno == EINTR);
    if (size != sizeof response) failed("recv");
    rethrow(response);
    return response;
  }

  Response ask(const Request& request) {
    send(request);
    return receive();
  }

  // A request that stops threads of the target. One that stood stopped must stand stopped again,
  // for which a thread needs a core for a moment.
  Response ask_to_touch(const Request& request) {
    constexpr Nanoseconds limit_ns = kSecond;
    const bool stopped = is_stopped(target);
    const Response response = ask(request);
    for (const Tid tid : response.touched) {
      if (tid != 0) involvement.touched.push_back(tid);
    }
    involvement.trap_replaced |= response.trap_replaced;
    calls_of_helper = response.stopped_calls;
    Patience patience(limit_ns);
    while (stopped && !is_stopped(target)) {
      if (patience.over()) {
        if (!procfs::has_ended(target)) {
          problems.push_back(
              fmt::format("process {} was stopped by a signal and runs now", target));
        }
        break;
      }
      sleep_until(monotonic_now() + kMillisecond);
    }
    return response;
  }

  // REQUIRES: errno is that of `call`.
  [[noreturn]] void failed(const char* call) const {
    const int error = errno;
    if (helper_is_alive()) {
      throw Error::from_errno(
          fmt::format("{} between causalctl and its guardian process ({})", call, helper), error);
    }
    throw Error(fmt::format("the guardian process ({}) ended unexpectedly", helper),
                "it says why above, or something killed it: look for the out-of-memory killer in "
                "the kernel's log");
  }

  void wait_for_helper() const {
    // Of a target that stands still it has said already what it waits for.
    const int limit_ms = is_frozen(target) || is_stopped(target) ? 10 : 5000;
    const Fd process(static_cast<int>(syscall(SYS_pidfd_open, helper, 0)));
    pollfd ended{process.get(), POLLIN, 0};
    while (poll(&ended, 1, limit_ms) < 0 && errno == EINTR) continue;
    if (!ptrace::reap_if_ended(helper)) {
      log::note("the guardian process {} is still undoing what was done to process {}", helper,
                target);
    }
  }
};

Guardian::Guardian() : impl_(std::make_unique<Impl>()) { impl_->start_helper(); }

Guardian::~Guardian() {
  // Nobody wants a program that runs although its profile could not begin.
  if (impl_->launched && !impl_->released && !impl_->exit_status) {
    kill_and_reap(impl_->target);
    impl_->may_be_injected = false;
  }
  if (impl_->may_be_injected && !impl_->helper_is_alive()) {
    try {
      impl_->replace_helper();
    } catch (const std::exception& error) {
      log::note("process {}: {}", impl_->target, error.what());
    }
  }
  impl_->socket.reset();
  impl_->wait_for_helper();
}

void Guardian::adopt(Pid target) {
  impl_->target = target;
  const Response response = impl_->ask_to_touch({.kind = Kind::adopt, .tid = target});
  if (response.what[0] != '\0') log::note("{}", response.what.data());
}

Pid Guardian::launch(const Launch& launch) {
  LaunchedChild child(launch, impl_->helper);
  try {
    impl_->ask({.kind = Kind::launch, .tid = child.pid()});
  } catch (...) {
    kill_and_reap(child.pid());
    throw;
  }
  try {
    child.execute();
  } catch (...) {
    try {
      impl_->receive();  // "ended before its first instruction", the lesser of the two messages
    } catch (const TargetGone&) {
    }
    kill_and_reap(child.pid());
    throw;
  }
  try {
    impl_->receive();
  } catch (...) {
    kill_and_reap(child.pid());
    throw;
  }
  impl_->target = child.pid();
  impl_->launched = true;
  return child.pid();
}

std::optional<std::string> Guardian::run_to_entry() {
  const Response response = impl_->ask({.kind = Kind::run_to_entry});
  std::string reason = response.what.data();
  return reason.empty() ? std::nullopt : std::optional(std::move(reason));
}

void Guardian::release() {
  impl_->ask({.kind = Kind::release});
  impl_->released = true;
}

bool Guardian::is_suspended() const { return impl_->launched && !impl_->released; }

std::optional<int> Guardian::exit_status() {
  if (impl_->launched && !impl_->exit_status) {
    impl_->exit_status = ptrace::reap_if_ended(impl_->target);
  }
  return impl_->exit_status;
}

Injection Guardian::inject(unsigned slot_count) {
  auto& involvement = impl_->involvement;
  involvement.restored = false;
  impl_->may_be_injected = true;
  involvement.injection =
      impl_->ask_to_touch({.kind = Kind::inject, .count = slot_count}).injection;
  return involvement.injection;
}

// A thread that a killed helper had stopped the kernel has let go. Its death, also between the
// check and the message, is was_killed()'s to tell.
void Guardian::pause(Tid tid, Nanoseconds duration_ns) {
  if (!impl_->helper_is_alive()) return;
  const Request request{.kind = Kind::pause, .tid = tid, .duration_ns = duration_ns};
  if (protocol::send_message(impl_->socket.get(), request)) {
    ++impl_->pauses_in_flight;
  } else if (impl_->helper_is_alive()) {
    impl_->failed("send");
  }
}

std::vector<StopPause> Guardian::finished_pauses() {
  std::vector<StopPause> pauses;
  while (impl_->pauses_in_flight > 0 && impl_->helper_is_alive()) {
    Response response;
    try {
      response = impl_->ask({.kind = Kind::collect});
    } catch (const Error&) {
      if (impl_->helper_is_alive()) throw;
      break;
    }
    pauses.insert(pauses.end(), response.pauses.begin(),
                  response.pauses.begin() + response.pause_count);
    impl_->pauses_in_flight -= response.pause_count;
    if (response.pause_count < response.pauses.size()) break;
  }
  return pauses;
}

std::vector<std::string> Guardian::restore() {
  if (!impl_->helper_is_alive()) {
    if (!impl_->may_be_injected) {
      impl_->involvement.restored = true;
      return {};
    }
    impl_->replace_helper();
  }
  const auto response = impl_->ask_to_touch({.kind = Kind::restore});
  impl_->may_be_injected = false;
  impl_->involvement.restored = true;
  std::vector<std::string> problems = std::exchange(impl_->problems, {});
  std::string_view text = response.what.data();
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    problems.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return problems;
}

Pid Guardian::helper() const { return impl_->helper; }

bool Guardian::was_killed() const { return impl_->helper_was_killed || !impl_->helper_is_alive(); }

StoppedCalls Guardian::stopped_calls() const {
  StoppedCalls all = impl_->calls_of_killed;
  all += impl_->calls_of_helper;
  return all;
}

Digest Guardian::digest(const std::vector<Address>& places) {
  impl_->involvement.helper = impl_->helper;
  return digest_of(impl_->target, impl_->involvement, places);
}

}  // namespace causalctl::tracee
