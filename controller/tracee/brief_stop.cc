#include "controller/tracee/brief_stop.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/tracee/inject/stopped_thread.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kLastWait = 200 * kMillisecond;

// Lets the thread go however the scope is left.
class LetGo {
 public:
  LetGo(Tid tid, const Stop& stop) : tid_(tid), stop_(stop) {}
  LetGo(const LetGo&) = delete;
  LetGo& operator=(const LetGo&) = delete;
  ~LetGo() {
    try {
      let_go_if_alive(tid_, stop_);
    } catch (const std::exception& error) {
      log::note("letting thread {} go: {}", tid_, error.what());
    }
  }

 private:
  Tid tid_;
  const Stop& stop_;
};

}  // namespace

StopOutcome BriefStops::stop(Tid tid, Nanoseconds patience_ns,
                             const std::function<void(const ptrace::Registers&)>& look,
                             StopTimes& times) {
  const int error = ptrace::try_seize(tid);
  if (error != 0) return error == ESRCH ? StopOutcome::gone : StopOutcome::refused;
  const Nanoseconds asked_ns = monotonic_now();
  if (!ptrace::interrupt_if_alive(tid)) return StopOutcome::gone;
  // Whichever stop comes first serves, be it that of a signal on its way.
  const auto stop = ptrace::wait_until(tid, asked_ns + patience_ns);
  if (!stop) {
    late_.push_back(tid);
    return StopOutcome::late;
  }
  if (std::holds_alternative<Ended>(*stop)) return StopOutcome::gone;
  const Nanoseconds stopped_ns = monotonic_now();
  bool seen = false;
  {
    const LetGo let_go(tid, *stop);
    if (const auto registers = ptrace::registers_if_alive(tid)) {
      seen = true;
      look(*registers);
    }
  }
  const Nanoseconds end_ns = monotonic_now();
  times = {end_ns - stopped_ns, end_ns - asked_ns};
  await_late(end_ns);
  return seen ? StopOutcome::done : StopOutcome::gone;
}

void BriefStops::await_late(Nanoseconds deadline_ns) {
  std::erase_if(late_, [&](Tid tid) {
    const auto stop = ptrace::wait_until(tid, deadline_ns);
    if (stop) let_go_if_alive(tid, *stop);
    return stop.has_value();
  });
}

BriefStops::~BriefStops() {
  try {
    await_late(monotonic_now() + kLastWait);
  } catch (const std::exception& error) {
    log::note("letting threads go: {}", error.what());
  }
}

}  // namespace causalctl::tracee
