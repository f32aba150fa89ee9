// Keeps the account of the time of a process, or of several, during a recording (time_account.h).
// Shell.
#pragma once

#include <cstddef>
#include <optional>

#include "controller/base/quota_time.h"
#include "controller/base/types.h"
#include "controller/callpath/time_account.h"
#include "controller/perf/event_source.h"
#include "controller/perf/events.h"
#include "controller/session/halt_watch.h"

namespace causalctl::callpath {

class AccountWatch {
 public:
  // `account` must outlive it. Without a target, which is that of several processes, there is no
  // word of their clocks, halts and quotas.
  AccountWatch(std::optional<Pid> target, TimeAccount& account);

  // What was before does not count.
  void start(Nanoseconds now_ns);
  // Reads the process's CPU time, which takes the kernel the longer the more threads there are: of
  // many, only now and then. Call it at the time up to which events are taken.
  void read_clock(Nanoseconds now_ns);
  void take(const perf::Event& event);

  // As Waits::look() wants it. Where a thread has come to a core just now, the target does not
  // stand still.
  struct Look {
    session::Halt halt = session::Halt::none;
    Nanoseconds before_ns = 0;
    Nanoseconds at_ns = 0;
  };
  Look look(Nanoseconds now_ns);
  // Once in a while, and at the end.
  void update(const perf::SessionLosses& losses);

 private:
  std::optional<Pid> target_;
  TimeAccount& account_;
  std::optional<session::HaltWatch> halts_;
  std::optional<QuotaTime> quota_;
  Look last_;
  Nanoseconds came_ns_ = 0;  // to a core, any thread, the last time
  Nanoseconds start_ns_ = 0;
  Nanoseconds start_cpu_ns_ = -1;  // not known
  Nanoseconds next_clock_ns_ = 0;
  std::size_t threads_ = 0;  // that live
};

}  // namespace causalctl::callpath
