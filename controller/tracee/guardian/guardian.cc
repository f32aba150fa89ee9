#include "controller/tracee/guardian/guardian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string_view>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/helper_process.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/tracee/freezer.h"
#include "controller/tracee/guardian/guardian_process.h"
#include "controller/tracee/process.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {
namespace {

using protocol::Kind;
using protocol::Request;
using protocol::Response;

HelperProcess start_helper() {
  return {"the guardian process",
          [](Channel& channel, Pid controller) { run_guardian_process(channel, controller); }};
}

}  // namespace

struct Guardian::Impl {
  HelperProcess helper = start_helper();
  Pid target = 0;
  bool launched = false;
  bool released = false;  // a launched program, which is no longer before its first instruction
  std::optional<int> exit_status;
  Involvement involvement;
  std::vector<std::string> problems;  // for restore() to tell
  bool may_be_injected = false;
  std::size_t pauses_in_flight = 0;
  bool helper_was_killed = false;
  StoppedCalls calls_of_helper;
  StoppedCalls calls_of_killed;  // of helpers before it, as far as they told

  bool helper_is_alive() const { return !helper.channel().is_closed(); }

  // Where the helper was killed, another one does what it would have done.
  void replace_helper() {
    log::note("the guardian process {} was killed; another one undoes what it did", helper.pid());
    wait_for_helper();
    pauses_in_flight = 0;
    helper_was_killed = true;
    calls_of_killed += std::exchange(calls_of_helper, {});
    helper = start_helper();
    ask({.kind = Kind::take_over, .tid = target});
  }

  void send(const Request& request) {
    if (!helper.channel().send(request)) failed("send");
  }

  Response receive() {
    Response response;
    if (!helper.channel().receive(response)) failed("recv");
    response.error.rethrow();
    return response;
  }

  Response ask(const Request& request) {
    send(request);
    return receive();
  }

  // Sends a request that stops threads of the target. A target that was stopped before must be
  // stopped again afterwards, for which its thread needs a core for a moment.
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

  // Where the helper is killed, even in the midst of it, another one goes on.
  Response ask_to_restore() {
    const Request request{.kind = Kind::restore};
    if (helper_is_alive()) {
      try {
        return ask_to_touch(request);
      } catch (const Error&) {
        if (helper_is_alive()) throw;
      }
    }
    replace_helper();
    return ask_to_touch(request);
  }

  // REQUIRES: errno is that of `call`.
  [[noreturn]] void failed(const char* call) const {
    const int error = errno;
    if (helper_is_alive()) {
      throw Error::from_errno(
          fmt::format("{} between causalctl and its guardian process ({})", call, helper.pid()),
          error);
    }
    throw Error(fmt::format("the guardian process ({}) ended unexpectedly", helper.pid()),
                "it says why above, or something killed it: look for the out-of-memory killer in "
                "the kernel's log");
  }

  void wait_for_helper() {
    // Where the target stands still, the helper has already said what it waits for.
    const bool stands_still = is_frozen(target) || is_stopped(target);
    if (!helper.ended_within(stands_still ? 10 * kMillisecond : 5 * kSecond)) {
      log::note("the guardian process {} is still undoing what was done to process {}",
                helper.pid(), target);
    }
  }
};

Guardian::Guardian() : impl_(std::make_unique<Impl>()) {}

Guardian::~Guardian() {
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
  impl_->helper.channel().close();
  impl_->wait_for_helper();
}

void Guardian::adopt(Pid target) {
  impl_->target = target;
  const Response response = impl_->ask_to_touch({.kind = Kind::adopt, .tid = target});
  if (*response.text.c_str() != '\0') log::note("{}", response.text.c_str());
}

Pid Guardian::launch(const Launch& launch) {
  LaunchedChild child(launch, impl_->helper.pid());
  try {
    impl_->ask({.kind = Kind::launch, .tid = child.pid()});
    try {
      child.execute();
    } catch (...) {
      try {
        impl_->receive();  // "ended before its first instruction", which says less
      } catch (const TargetGone&) {
      }
      throw;
    }
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
  std::string reason = response.text.c_str();
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
  impl_->involvement.restored = false;
  impl_->may_be_injected = true;
  const Injection injection =
      impl_->ask_to_touch({.kind = Kind::inject, .count = slot_count}).injection;
  impl_->involvement.stub = injection.code;
  return injection;
}

// Does nothing where the helper was killed, also between the check and the message: the kernel has
// let its threads go, and was_killed() tells.
void Guardian::pause(Tid tid, Nanoseconds duration_ns) {
  if (!impl_->helper_is_alive()) return;
  const Request request{.kind = Kind::pause, .tid = tid, .duration_ns = duration_ns};
  if (impl_->helper.channel().send(request)) {
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
  impl_->involvement.restored = true;
  if (!impl_->helper_is_alive() && !impl_->may_be_injected) return {};
  protocol::Response response;
  try {
    response = impl_->ask_to_restore();
    impl_->may_be_injected = false;
  } catch (const Error& error) {
    response.text.set(
        fmt::format("process {} may still have our SIGTRAP handler and its page: {}\n",
                    impl_->target, error.what()));
  }
  std::vector<std::string> problems = std::exchange(impl_->problems, {});
  std::string_view text = response.text.c_str();
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    problems.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return problems;
}

Pid Guardian::helper() const { return impl_->helper.pid(); }

bool Guardian::was_killed() const { return impl_->helper_was_killed || !impl_->helper_is_alive(); }

StoppedCalls Guardian::stopped_calls() const {
  StoppedCalls all = impl_->calls_of_killed;
  all += impl_->calls_of_helper;
  return all;
}

Digest Guardian::digest(const std::vector<Address>& places) {
  impl_->involvement.helper = impl_->helper.pid();
  return digest_of(impl_->target, impl_->involvement, places);
}

}  // namespace causalctl::tracee
