#include "controller/base/ends.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/signal_state.h"
#include "controller/base/standard_error.h"
#include "controller/base/thread.h"
#include "controller/base/types.h"

namespace causalctl {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kWake = SIGUSR2;  // cuts a call of the working thread short
constexpr Nanoseconds kTogether = 300 * kMillisecond;
constexpr Nanoseconds kWorkPatience = 5 * kSecond;
constexpr Nanoseconds kReportPatience = 500 * kMillisecond;
constexpr Nanoseconds kTick = 20 * kMillisecond;
// A thread that polls uses less of a core in half a second. One that computes uses more, also
// beside a hundred others.
constexpr Nanoseconds kComputes = 2 * kMillisecond;

struct State {
  std::atomic<Pid> process = 0;  // which has the ender: a forked child has none
  pthread_t ender{};
  pthread_t worker{};
  clockid_t worker_clock{};
  sigset_t taken{};
  std::atomic<int> scopes = 0;
  std::atomic<int> requests = 0;
  std::atomic<int> seen = 0;  // of these, by the work
  std::atomic<Nanoseconds> patience_ns = kReportPatience;
  std::mutex mutex;
  std::list<std::function<void()>> actions;  // guarded by mutex
};

// Never destroyed, because the ender outlives main().
State& state() {
  static auto* state = new State;
  return *state;
}

void pass_on(int signal) { pthread_kill(state().ender, signal); }

void on_wake(int /*signal*/) {}

[[noreturn]] void end_by(int signal) {
  {
    State& all = state();
    const std::unique_lock lock(all.mutex, std::try_to_lock);
    if (lock) {
      for (const auto& action : all.actions) action();
    }
  }
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  _exit(128 + signal);
}

class Ender {
 public:
  [[noreturn]] void run() {
    const timespec tick{0, kTick};
    for (;;) {
      const bool asked = state_.requests > 0;
      const int signal =
          asked ? sigtimedwait(&state_.taken, nullptr, &tick) : sigwaitinfo(&state_.taken, nullptr);
      if (signal > 0) take(signal);
      if (asked) (state_.scopes > 0 ? look_at_work() : look_at_report());
    }
  }

 private:
  void take(int signal) {
    const Nanoseconds now_ns = monotonic_now();
    const bool again = state_.requests > 0;
    if (again && now_ns - asked_ns_ < kTogether) return;
    if (again || state_.scopes == 0) end_by(signal);
    signal_ = signal;
    asked_ns_ = moved_ns_ = now_ns;
    ++state_.requests;
    wake();
  }

  // Once is not enough: the working thread may have been just about to sleep.
  void wake() const {
    if (state_.seen < state_.requests) pthread_kill(state_.worker, kWake);
  }

  void look_at_work() {
    wake();
    moved_ns_ = monotonic_now();
    if (moved_ns_ - asked_ns_ < kWorkPatience) return;
    give_up(fmt::format("its work went on for {} s after {}", kWorkPatience / kSecond,
                        name_of_signal(signal_)));
  }

  void look_at_report() {
    timespec used{};
    clock_gettime(state_.worker_clock, &used);
    const Nanoseconds used_ns = used.tv_sec * kSecond + used.tv_nsec;
    const Nanoseconds now_ns = monotonic_now();
    if (used_ns - used_ns_ >= kComputes) {
      used_ns_ = used_ns;
      moved_ns_ = now_ns;
    }
    const Nanoseconds patience_ns = state_.patience_ns;
    if (now_ns - moved_ns_ < patience_ns) return;
    give_up(fmt::format("after {} it waited for {} s, for a reader of its output or for a file",
                        name_of_signal(signal_), static_cast<double>(patience_ns) / kSecond));
  }

  [[noreturn]] void give_up(const std::string& why) const {
    standard_error::write(fmt::format(
        "causalctl: ended before everything was written: {}\n  hint: causalctl report LOG shows "
        "what is in the log, if there is one\n",
        why));
    end_by(signal_);
  }

  State& state_ = state();
  int signal_ = 0;
  Nanoseconds asked_ns_ = 0;  // first
  Nanoseconds used_ns_ = 0;   // CPU time of the working thread at moved_ns_
  Nanoseconds moved_ns_ = 0;  // when it was last seen to compute
};

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART, so that a sleep ends at once
  sigaction(signal, &action, nullptr);
}

}  // namespace

void begin_taking_signals() {
  State& all = state();
  if (all.process == getpid()) return;
  all.scopes = all.requests = all.seen = 0;
  sigemptyset(&all.taken);
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    handle(signal, SIG_DFL);
    sigaddset(&all.taken, signal);
  }
  handle(kWake, on_wake);
  all.worker = pthread_self();
  pthread_getcpuclockid(all.worker, &all.worker_clock);
  // A thread inherits what is blocked. All that start later leave these signals to the ender.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    std::thread ender = start_thread("signals", [] { Ender().run(); });
    all.ender = ender.native_handle();
    ender.detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  for (const int signal : kSignals) {
    if (sigismember(&all.taken, signal) == 1) sigaddset(&before, signal);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  all.process = getpid();
}

void raise_ender(int priority) {
  const sched_param wanted{priority};
  pthread_setschedparam(state().ender, priority > 0 ? SCHED_FIFO : SCHED_OTHER, &wanted);
}

// The handlers are for threads that began before the ender, as a test may have.
Interrupts::Interrupts() {
  begin_taking_signals();
  State& all = state();
  if (all.scopes++ > 0) return;
  for (const int signal : kSignals) {
    if (sigismember(&all.taken, signal) == 1) handle(signal, pass_on);
  }
}

Interrupts::~Interrupts() {
  State& all = state();
  if (--all.scopes > 0) return;
  for (const int signal : kSignals) {
    if (sigismember(&all.taken, signal) == 1) handle(signal, SIG_DFL);
  }
}

int Interrupts::count() {
  State& all = state();
  all.seen = all.requests.load();
  return all.seen;
}

PatienceWithFiles::PatienceWithFiles(Nanoseconds patience_ns) { state().patience_ns = patience_ns; }

PatienceWithFiles::~PatienceWithFiles() { state().patience_ns = kReportPatience; }

AtEnd::AtEnd(std::function<void()> action) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  place_ = all.actions.insert(all.actions.end(), std::move(action));
}

AtEnd::~AtEnd() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.actions.erase(place_);
}

}  // namespace causalctl
