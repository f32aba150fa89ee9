#include "controller/session/halt_watch.h"

#include <algorithm>

#include "controller/base/procfs.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kReadAgain = kSecond;

char state_of(Pid pid, Tid tid) {
  const auto stat = procfs::thread_stat(pid, tid);
  return stat ? procfs::parse_state(*stat) : '?';
}

}  // namespace

// A signal stops all threads, so that one tells it. A tracer may stop each by itself.
bool HaltWatch::is_stopped() {
  tracer_ = 0;
  const char first = state_of(target_, target_);
  if (first != 'T' && first != 't' && first != 'Z') return false;
  if (first == 'T') return true;
  bool any = false;
  for (const Tid tid : procfs::threads(target_)) {
    const char state = state_of(target_, tid);
    if (state == 'Z' || state == 'X' || state == '?') continue;
    if (state != 'T' && state != 't') return false;
    any = true;
  }
  const auto status = any ? procfs::status(target_) : std::nullopt;
  if (status) tracer_ = status->tracer_pid;
  return any;
}

Halt HaltWatch::look(Nanoseconds now_ns) {
  if (is_stopped()) return Halt::stopped;
  if (now_ns >= next_reading_ns_) {
    freezers_ = tracee::freezer_files(target_);
    next_reading_ns_ = now_ns + kReadAgain;
  }
  const bool frozen =
      std::any_of(freezers_.begin(), freezers_.end(),
                  [](const tracee::FreezerFile& each) { return tracee::says_frozen(each); });
  return frozen ? Halt::frozen : Halt::none;
}

}  // namespace causalctl::session
