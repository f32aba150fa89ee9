// Keeps the account of the time of a process, or of a set of processes, during a recording
// (time_account.h). Shell.
//
// A set stands still if all its processes do. Of more than kMostLookedAt processes there is no word
// of halts, of quotas and of programs that may not be read.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "controller/base/quota_time.h"
#include "controller/base/types.h"
#include "controller/callpath/engine/process_clocks.h"
#include "controller/callpath/record/time_account.h"
#include "controller/perf/event_source.h"
#include "controller/perf/events.h"
#include "controller/session/halt_watch.h"

namespace causalctl::callpath {

class AccountWatch {
 public:
  static constexpr std::size_t kMostLookedAt = 64;

  // `members` are the processes that are there before the first event. `account` must outlive it.
  AccountWatch(const std::vector<Pid>& members, TimeAccount& account);

  // What was before does not count.
  void start(Nanoseconds now_ns);
  // Reads the CPU time of the processes, which takes the longer the more threads there are: of
  // many, only now and then. Call it at the time up to which events are taken.
  void read_clocks(Nanoseconds now_ns);
  // Has the next read_clocks() read in any case. Returns whether the last one did not.
  bool read_next_time();
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
  struct Member {
    session::HaltWatch halts;
    bool was_readable;  // its program, when it was seen first
  };

  session::Halt halt_of_all(Nanoseconds now_ns);
  void follow_members();

  std::vector<Pid> at_start_;
  TimeAccount& account_;
  ProcessClocks clocks_;
  std::map<Pid, Member> members_;  // none if there are too many
  Pid going_on_ = 0;               // a member that did not stand still at the last look
  std::optional<QuotaTime> quota_;
  Look last_;
  Nanoseconds came_ns_ = 0;  // to a core, any thread, the last time
  Nanoseconds start_ns_ = 0;
  bool is_started_ = false;
  bool has_read_ = false;  // at the last read_clocks()
  Nanoseconds next_clock_ns_ = 0;
  std::size_t threads_ = 0;  // that live
};

}  // namespace causalctl::callpath
