#include "controller/tracee/holds.h"

#include <sys/ptrace.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/ptrace.h"
#include "controller/tracee/stopped_thread.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kLongest = kSecond;  // the pauser bounds better; this bounds a wrong request

bool may_hold(Tid tid, const Stop& stop) {
  const auto* event = std::get_if<EventStop>(&stop);
  if (event == nullptr || event->event != PTRACE_EVENT_STOP || event->signal != SIGTRAP) {
    return false;  // a signal, or a group-stop: not ours to prolong
  }
  const auto registers = ptrace::registers_if_alive(tid);
  return registers && !interrupted_syscall(*registers) && !cut_short(*registers);
}

}  // namespace

void Holds::start(Pid target, Tid tid, Nanoseconds duration_ns) {
  const Nanoseconds now_ns = monotonic_now();
  const Hold hold{std::clamp<Nanoseconds>(duration_ns, 0, kLongest), now_ns, std::nullopt};
  // A second pause while one is under way is refused, as is a thread that is gone or traced; the
  // number of one that is gone may be a stranger's by now.
  if (owns(tid)) {
    finished_.push_back({tid, now_ns, now_ns});
  } else if (!procfs::thread_status(target, tid) || ptrace::try_seize(tid) != 0 ||
             !ptrace::interrupt_if_alive(tid)) {
    finish(tid, hold, now_ns);
  } else {
    holds_.emplace(tid, hold);
  }
}

void Holds::finish(Tid tid, const Hold& hold, Nanoseconds end_ns) {
  finished_.push_back({tid, hold.start_ns, hold.until_ns ? end_ns : hold.start_ns});
}

void Holds::on_stop(Tid tid, const Stop& stop) {
  const auto found = holds_.find(tid);
  if (found == holds_.end()) return;
  Hold& hold = found->second;
  const Nanoseconds now_ns = monotonic_now();
  const bool ended = std::holds_alternative<Ended>(stop);
  if (!ended && !hold.until_ns && hold.duration_ns > 0 && may_hold(tid, stop)) {
    hold.start_ns = now_ns;
    hold.until_ns = now_ns + hold.duration_ns;
    return;
  }
  let_go_if_alive(tid, stop);
  finish(tid, hold, now_ns);
  holds_.erase(found);
}

void Holds::on_time(Nanoseconds now_ns) {
  for (auto next = holds_.begin(); next != holds_.end();) {
    const auto& [tid, hold] = *next;
    if (!hold.until_ns || *hold.until_ns > now_ns) {
      ++next;
      continue;
    }
    ptrace::detach_if_alive(tid, 0);  // killed meanwhile: the loop reaps it as a stranger
    finish(tid, hold, monotonic_now());
    next = holds_.erase(next);
  }
}

std::optional<Nanoseconds> Holds::next_deadline_ns() const {
  std::optional<Nanoseconds> next_ns;
  for (const auto& [tid, hold] : holds_) {
    if (hold.until_ns && (!next_ns || *hold.until_ns < *next_ns)) next_ns = hold.until_ns;
  }
  return next_ns;
}

void Holds::end_all() {
  for (auto& [tid, hold] : holds_) {
    hold.duration_ns = 0;
    if (hold.until_ns) hold.until_ns = 0;
  }
  on_time(monotonic_now());
}

std::vector<StopPause> Holds::take_finished() { return std::exchange(finished_, {}); }

}  // namespace causalctl::tracee
