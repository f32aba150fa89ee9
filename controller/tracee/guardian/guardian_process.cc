#include "controller/tracee/guardian/guardian_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/freezer.h"
#include "controller/tracee/guardian/precedence.h"
#include "controller/tracee/guardian/priority_boost.h"
#include "controller/tracee/guardian/run_suspended.h"
#include "controller/tracee/guardian/stop_pauses.h"
#include "controller/tracee/inject/injector.h"
#include "controller/tracee/inject/left_stub.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/process.h"
#include "controller/tracee/ptrace.h"
#include "controller/tracee/target_lock.h"
#include "controller/tracee/undo_until_done.h"

namespace causalctl::tracee {
namespace {

using protocol::Kind;
using protocol::Request;
using protocol::Response;

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
constexpr int kFirstThreadEnded = SIGUSR1;  // the controller's; its others may live on

class GuardianProcess {
 public:
  // `signals`: a signalfd of SIGCHLD and kFirstThreadEnded.
  GuardianProcess(const Channel& channel, Pid controller, Fd signals)
      : channel_(channel), controller_(controller), signals_(std::move(signals)) {}

  void run() {
    for (;;) {
      take_stops();
      stop_pauses_.on_time(monotonic_now());
      keep_before();
      if (!wait()) return;
    }
  }

  // Undoes everything, whatever fails on the way.
  std::vector<std::string> undo() {
    std::vector<std::string> problems;
    const auto attempt = [&](const auto& step) {
      try {
        step();
      } catch (const std::exception& error) {
        problems.emplace_back(error.what());
      }
    };
    attempt([&] {
      stop_pauses_.end_all();
      wait_for_stop_pauses();
    });
    attempt([&] {
      if (!injector_) return;
      for (auto& problem : injector_->restore(suspended())) problems.push_back(std::move(problem));
    });
    return problems;
  }

  // Waits for a frozen or stopped target without a limit, as no process waits for this one any
  // more.
  std::vector<std::string> undo_once_it_goes_on() {
    const auto stands_still = [this] {
      return target_ != 0 &&
             (is_frozen(target_) || is_stopped(target_) || traced_by_other(target_).has_value());
    };
    // Threads that were asked to stop do so when the target goes on, and must be let go soon.
    const auto wait = [this] {
      constexpr int poll_again_ms = 100;
      pollfd stops{signals_.get(), POLLIN, 0};
      (void)poll(&stops, 1, poll_again_ms);
      drain_signals();
      take_stops();
    };
    return undo_until_done([this] { return undo(); }, stands_still, wait);
  }

  void let_suspended_go() {
    if (suspended_ != 0) ptrace::detach_if_alive(suspended_, 0);
    suspended_ = 0;
  }

 private:
  std::optional<Tid> suspended() const {
    return suspended_ != 0 ? std::optional(suspended_) : std::nullopt;
  }

  void take_stops() {
    while (const auto waited = ptrace::poll_any()) {
      if (waited->tid == suspended_) {
        if (std::holds_alternative<Ended>(waited->stop)) suspended_ = 0;
      } else if (stop_pauses_.owns(waited->tid)) {
        stop_pauses_.on_stop(waited->tid, waited->stop);
      } else {
        // A thread that was given up before it stopped, or that took over the leader's number by
        // an exec after it was seized.
        let_go_if_alive(waited->tid, waited->stop);
      }
    }
  }

  bool is_injected() const { return injector_ && injector_->is_injected(); }

  // A thread of the target that gets a real-time priority during the run may keep both processes
  // from all cores, and would never be left.
  void keep_before() {
    if (target_ == 0 || !look_.due()) return;
    const int priority = own_priority(look_.look(target_));
    (void)raise_to(0, priority);
    if (is_injected()) (void)raise_to(controller_, priority);
  }

  // A thread that was interrupted may not have stopped: it is not scheduled, or sleeps
  // uninterruptibly. The guardian's end frees it, too, so the wait is for its EINTR only. It comes
  // before the injector's turn, which takes all stops and lets threads go that it has not asked.
  void wait_for_stop_pauses() {
    Patience patience(500 * kMillisecond);
    for (take_stops(); !stop_pauses_.empty() && !patience.over(); take_stops()) {
      sleep_until(monotonic_now() + kMillisecond);
    }
  }

  bool wait() {  // returns false if the controller is gone
    pollfd fds[] = {{channel_.descriptor(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    timespec timeout{};
    const timespec* limit = nullptr;
    auto deadline_ns = stop_pauses_.next_deadline_ns();
    if (is_injected()) deadline_ns = std::min(deadline_ns.value_or(kNever), look_.next_ns());
    if (deadline_ns) {
      const auto left_ns = std::max<Nanoseconds>(0, *deadline_ns - monotonic_now());
      timeout = {left_ns / kSecond, left_ns % kSecond};
      limit = &timeout;
    }
    // It may be interrupted, or lack memory for a moment, which is no reason to end.
    const bool looked = ppoll(fds, std::size(fds), limit, nullptr) >= 0;
    if (!looked) sleep_until(monotonic_now() + kMillisecond);
    drain_signals();
    return (looked && fds[0].revents == 0) || serve();
  }

  // A controller that is killed is gone, with its events, when its last thread is, which may work
  // at a low priority. The handler must stay until then, because an event may still have a signal.
  void drain_signals() const {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) > 0) {
      if (info.ssi_signo == kFirstThreadEnded) boost_exit_of(controller_);
    }
  }

  bool serve() {
    Request request;
    if (!channel_.receive(request, MSG_DONTWAIT)) {
      if (errno == EAGAIN) return true;
      if (errno != 0) throw Error::from_errno("recv from causalctl", errno);
      return false;
    }
    if (request.kind == Kind::pause) {
      // What a stop costs is measured at a thread of the controller.
      const bool own = procfs::thread_status(controller_, request.tid).has_value();
      stop_pauses_.start(own ? controller_ : target_, request.tid, request.duration_ns);
      return true;
    }
    Response response;
    try {
      response = answer(request);
    } catch (const std::exception& error) {
      response.error.set(error);
    }
    return channel_.send(response);
  }

  Response answer(const Request& request) {
    Response response;
    switch (request.kind) {
      case Kind::adopt:
        check_adoptable(request.tid, controller_);
        take_target(request.tid);
        response.text.set(remove_left_stub());
        lock_ = lock_target(target_);
        break;
      case Kind::launch:
        launch(request.tid);
        break;
      case Kind::run_to_entry:
        if (std::exchange(ran_to_entry_, true)) run_to_next_exec();
        response.text.set(run_to_entry(suspended_, controller_is_gone_).value_or(""));
        break;
      case Kind::release:
        let_suspended_go();
        break;
      case Kind::inject:
        response.injection = inject(request.count);
        tell_touched(response);
        break;
      case Kind::collect:
        collect(response);
        break;
      case Kind::restore: {
        std::string text;
        for (const auto& problem : undo()) text += problem + "\n";
        response.text.set(text);
        tell_touched(response);
        break;
      }
      case Kind::take_over:
        take_target(request.tid);
        if (const auto left = find_left_stub(target_)) (void)injector_->take_over(*left);
        break;
      case Kind::pause:
        break;  // has no answer
    }
    return response;
  }

  void tell_touched(Response& response) const {
    if (!injector_) return;
    const auto& tids = injector_->touched();
    std::copy_n(tids.begin(), std::min(tids.size(), response.touched.size()),
                response.touched.begin());
    response.trap_replaced = injector_->trap_replaced();
    response.stopped_calls = stopped_calls();
  }

  void take_target(Pid pid) {
    INVARIANT(!injector_);
    target_ = pid;
    boost_.emplace(0, own_priority(look_.look(pid)));
    injector_ = std::make_unique<Injector>(pid, controller_);
  }

  // Returns what was done, for the user; nothing if nothing was done. Throws Error where there can
  // be no profile.
  std::string remove_left_stub() {
    const auto left = find_left_stub(target_);
    if (!left) return "";
    refuse_if_at_work(*left, target_);
    const auto state = state_of(left->owner, target_);
    // Then it is taken for a handler of the target's own, which pauses by ptrace respect.
    if (state == OwnerState::unknown || !injector_->take_over(*left)) return "";
    const auto problems = injector_->restore(std::nullopt);
    if (problems.empty()) {
      injector_ = std::make_unique<Injector>(target_, controller_);
      return fmt::format("removed the pause stub that a killed causalctl had left in process {}",
                         target_);
    }
    auto text = fmt::format(
        "a causalctl that was killed has left its pause stub in process {}, and it cannot be "
        "removed: {}",
        target_, fmt::join(problems, "; "));
    if (is_frozen(target_) || is_stopped(target_)) throw Error(text);
    injector_ = std::make_unique<Injector>(target_, controller_);
    return text;
  }

  Injection inject(unsigned slot_count) {
    INVARIANT(injector_ != nullptr);
    const auto status = procfs::status(target_);
    if (status && procfs::has_signal(status->signals_caught, SIGTRAP)) {
      throw own_handler_error(target_);
    }
    try {
      return injector_->inject(slot_count, suspended());
    } catch (...) {
      for (const auto& problem : injector_->restore(suspended()))
        log::note("guardian: {}", problem);
      throw;
    }
  }

  void collect(Response& response) {
    const auto fresh = stop_pauses_.take_finished();
    finished_.insert(finished_.end(), fresh.begin(), fresh.end());
    while (!finished_.empty() && response.pause_count < response.pauses.size()) {
      response.pauses[response.pause_count++] = finished_.front();
      finished_.pop_front();
    }
  }

  // The child waits for the controller's word and then executes the program.
  void launch(Pid child) {
    if (const int error = ptrace::try_seize(child, true); error != 0) {
      throw Error::from_errno(fmt::format("ptrace(PTRACE_SEIZE, pid {})", child), error);
    }
    if (!channel_.send(Response())) return;
    run_to_exec(child, controller_is_gone_);
    check_64_bit(child);
    suspended_ = child;
    take_target(child);
    lock_ = lock_target(child);
  }

  void run_to_next_exec() {
    if (ptrace::resume_if_alive(suspended_, ptrace::Resume::run, 0)) {
      run_to_exec(suspended_, controller_is_gone_);
    } else {
      throw TargetGone(fmt::format("process {} has ended", target_));
    }
    check_64_bit(target_);
    injector_ = std::make_unique<Injector>(target_, controller_);
  }

  const Channel& channel_;
  const std::function<bool()> controller_is_gone_ = [this] { return channel_.is_closed(); };
  Pid controller_;
  Pid target_ = 0;
  // It sleeps nearly always; while it is awake, threads of the target wait for it. In a session of
  // its own it is a scheduling group of its own (autogroup), which a busy server kept from a core
  // for 8 s. Before the target is known it is an ordinary process: at a priority below that of
  // threads that never sleep it would get no core at all, while the kernel keeps some for ordinary
  // ones.
  std::optional<PriorityBoost> boost_;
  Fd signals_;
  Fd lock_;  // tells other guardians that the target has one
  bool ran_to_entry_ = false;
  Tid suspended_ = 0;  // a launched program's first thread, stopped until release()
  std::unique_ptr<Injector> injector_;
  StopPauses stop_pauses_;
  LookAgain look_;
  std::deque<StopPause> finished_;
};

// No signal but SIGKILL ends it. It keeps the standard error for its last words.
HelperLife life_of_guardian(const Channel& channel) {
  std::vector<int> ignored;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    // Faults of its own end it: ignored, they would be repeated for ever.
    constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    const bool fault = std::find(std::begin(faults), std::end(faults), signal) != std::end(faults);
    if (!fault) ignored.push_back(signal);
  }
  return {.name = kGuardianName,
          .ignored = std::move(ignored),
          .watched = {SIGCHLD, kFirstThreadEnded},
          .first_thread_signal = kFirstThreadEnded,
          .kept = {channel.descriptor(), STDERR_FILENO}};
}

// Also with --quiet, because no other process can tell.
void last_words(std::string_view text) {
  log::write(log::Level::quiet, fmt::format("guardian: {}", text));
}

}  // namespace

void run_guardian_process(const Channel& controller_end, Pid controller) {
  try {
    prctl(PR_SET_TIMERSLACK, 1UL);
    GuardianProcess process(controller_end, controller, settle(life_of_guardian(controller_end)));
    try {
      process.run();
    } catch (const std::exception& error) {
      last_words(error.what());
    }
    for (const auto& problem : process.undo_once_it_goes_on()) last_words(problem);
    process.let_suspended_go();
  } catch (const std::exception& error) {
    last_words(error.what());
  }
  _exit(0);
}

}  // namespace causalctl::tracee
