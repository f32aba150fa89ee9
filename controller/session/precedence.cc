#include "controller/session/precedence.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "controller/base/clock.h"
#include "controller/base/ends.h"
#include "controller/base/log.h"
#include "controller/tracee/process.h"

namespace causalctl::session {
namespace {

constexpr rlim_t kLongestRunUs = 200'000;
constexpr int kUsualNice = -10;

volatile std::sig_atomic_t raised = 0;  // the thread with the priority

void set_longest_run(rlim_t microseconds) {
  rlimit limit{};
  if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return;
  limit.rlim_cur = std::min(microseconds, limit.rlim_max);
  setrlimit(RLIMIT_RTTIME, &limit);
}

// Only system calls that a handler may make.
void become_ordinary(int /*signal*/) {
  const sched_param none{0};
  sched_setscheduler(raised, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
  set_longest_run(kLongestRunUs);  // the kernel has made it longer by a second
}

// Control groups and RT throttling may keep a thread from a core that may have the priority.
bool comes_to_a_core(int priority) {
  constexpr int tries = 3;
  constexpr Nanoseconds late_ns = 250 * kMillisecond;
  const tracee::PriorityBoost boost(0, priority);
  sched_param now{};
  if (sched_getparam(0, &now) != 0 || now.sched_priority < priority) return false;
  Nanoseconds shortest_ns = std::numeric_limits<Nanoseconds>::max();
  for (int i = 0; i < tries; ++i) {
    const Nanoseconds begin_ns = monotonic_now();
    sleep_until(begin_ns + kMillisecond);
    shortest_ns = std::min(shortest_ns, monotonic_now() - begin_ns);
  }
  return shortest_ns < late_ns;
}

}  // namespace

Precedence::Precedence(Pid target)
    : target_(target),
      claims_(again_.look(target)),
      cores_(tracee::usable_cores(getpid()).size()),
      priority_(tracee::own_priority(claims_)) {
  const bool permitted = claims_.count < cores_ || comes_to_a_core(priority_);
  if (const auto why = tracee::why_not_before(claims_, target, cores_, permitted)) throw *why;
}

void Precedence::begin() {
  boost_.emplace(0, priority_);
  if (boost_->works()) {
    raised = static_cast<int>(gettid());
    struct sigaction action {};
    action.sa_handler = become_ordinary;
    action.sa_flags = SA_RESTART;
    sigaction(SIGXCPU, &action, nullptr);
    set_longest_run(kLongestRunUs);
    begin_taking_signals();
    raise_ender(priority_);
    return;
  }
  nice_before_ = getpriority(PRIO_PROCESS, 0);
  const int wanted = std::min(kUsualNice, claims_.nice);
  if (setpriority(PRIO_PROCESS, 0, wanted) == 0) return;
  if (claims_.nice < *nice_before_) {
    log::note(
        "warning: threads of process {} have the nice value {} and causalctl {}: on busy cores "
        "pauses come late, and the end, too; run it as root",
        target_, claims_.nice, *nice_before_);
  }
}

void Precedence::end() {
  if (boost_ && boost_->works()) {
    raise_ender(0);
    set_longest_run(RLIM_INFINITY);
    std::signal(SIGXCPU, SIG_DFL);
  }
  boost_.reset();
  if (nice_before_) setpriority(PRIO_PROCESS, 0, *nice_before_);
  nice_before_.reset();
}

const std::string& Precedence::lost() {
  if (!lost_.empty() || !again_.due()) return lost_;
  const tracee::Claims now = again_.look(target_);
  const auto above = tracee::priority_above(now);
  const bool permitted = above && boost_ && boost_->works() && tracee::raise_to(raised, *above);
  if (permitted) {
    priority_ = std::max(priority_, *above);
    raise_ender(priority_);
  }
  if (const auto why = tracee::why_not_before(now, target_, cores_, permitted)) {
    lost_ = why->what();
  }
  return lost_;
}

}  // namespace causalctl::session
