// What a program that causalctl has started leaves behind: children that outlive it, and daemons.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/types.h"

namespace causalctl::commands {

// While it lives, processes below the program that lose their parents come to causalctl
// (PR_SET_CHILD_SUBREAPER), whatever session or group they are in, so that none is lost from sight.
// Those that end are reaped.
class LeftBehind {
 public:
  LeftBehind();
  ~LeftBehind();
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;

  // Reaps from now on. The program's own status is for its guardian to take.
  void started(Pid program);

  // Tells what a program that has ended by itself leaves behind, which goes on: it may be meant to.
  void tell() const;
  // Ends what is left of a program that was asked to end, by SIGTERM, and tells what goes on.
  void end() const;

 private:
  std::vector<Pid> now() const;
  std::vector<Pid> wait_for_end(Nanoseconds limit_ns) const;
  void reap(const std::stop_token& stop) const;

  std::vector<Pid> before_;  // below us already, as what a shell left us that became us by exec
  std::atomic<Pid> program_ = 0;
  std::jthread reaper_;
};

}  // namespace causalctl::commands
