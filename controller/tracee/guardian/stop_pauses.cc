#include "controller/tracee/guardian/stop_pauses.h"

#include <sys/ptrace.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kLongest = kSecond;  // the pauser bounds better; this bounds a wrong request

bool may_stay_stopped(Tid tid, const Stop& stop) {
  const auto* event = std::get_if<EventStop>(&stop);
  if (event == nullptr || event->event != PTRACE_EVENT_STOP || event->signal != SIGTRAP) {
    return false;  // a signal or a group-stop, which must not be prolonged
  }
  const auto registers = ptrace::registers_if_alive(tid);
  return registers && !interrupted_syscall(*registers) && !cut_short(*registers);
}

}  // namespace

void StopPauses::start(Pid target, Tid tid, Nanoseconds duration_ns) {
  const Nanoseconds now_ns = monotonic_now();
  const UnderWay pause{std::clamp<Nanoseconds>(duration_ns, 0, kLongest), now_ns, std::nullopt};
  // A second pause while one is under way is refused, and so is a thread that is gone or traced.
  // The number of a thread that is gone may belong to another process by now.
  if (owns(tid)) {
    finished_.push_back({tid, now_ns, now_ns});
  } else if (!procfs::thread_status(target, tid) || ptrace::try_seize(tid) != 0 ||
             !ptrace::interrupt_if_alive(tid)) {
    finish(tid, pause, now_ns);
  } else {
    under_way_.emplace(tid, pause);
  }
}

void StopPauses::finish(Tid tid, const UnderWay& pause, Nanoseconds end_ns) {
  finished_.push_back({tid, pause.start_ns, pause.until_ns ? end_ns : pause.start_ns});
}

void StopPauses::on_stop(Tid tid, const Stop& stop) {
  const auto found = under_way_.find(tid);
  if (found == under_way_.end()) return;
  UnderWay& pause = found->second;
  const Nanoseconds now_ns = monotonic_now();
  const bool ended = std::holds_alternative<Ended>(stop);
  if (!ended && !pause.until_ns && pause.duration_ns > 0 && may_stay_stopped(tid, stop)) {
    pause.start_ns = now_ns;
    pause.until_ns = now_ns + pause.duration_ns;
    return;
  }
  let_go_if_alive(tid, stop);
  finish(tid, pause, now_ns);
  under_way_.erase(found);
}

void StopPauses::on_time(Nanoseconds now_ns) {
  for (auto next = under_way_.begin(); next != under_way_.end();) {
    const auto& [tid, pause] = *next;
    if (!pause.until_ns || *pause.until_ns > now_ns) {
      ++next;
      continue;
    }
    ptrace::detach_if_alive(tid, 0);  // if it was killed meanwhile, the loop reaps it
    finish(tid, pause, monotonic_now());
    next = under_way_.erase(next);
  }
}

std::optional<Nanoseconds> StopPauses::next_deadline_ns() const {
  std::optional<Nanoseconds> next_ns;
  for (const auto& [tid, pause] : under_way_) {
    if (pause.until_ns && (!next_ns || *pause.until_ns < *next_ns)) next_ns = pause.until_ns;
  }
  return next_ns;
}

void StopPauses::end_all() {
  for (auto& [tid, pause] : under_way_) {
    pause.duration_ns = 0;
    if (pause.until_ns) pause.until_ns = 0;
  }
  on_time(monotonic_now());
}

std::vector<StopPause> StopPauses::take_finished() { return std::exchange(finished_, {}); }

}  // namespace causalctl::tracee
