// Starts a program of tests/targets for one test, and kills it at the end.
#pragma once

#include <sys/types.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::tracee::test {

std::string program(const std::string& name);  // returns the path of a program of tests/targets

bool handles(Pid pid, int signal);
bool handler_is_installed(Pid pid);  // whether SIGTRAP has a handler

class BlockSigchld {  // acts on this thread, as wait_until() requires
 public:
  BlockSigchld();
  ~BlockSigchld();
  BlockSigchld(const BlockSigchld&) = delete;
  BlockSigchld& operator=(const BlockSigchld&) = delete;

 private:
  sigset_t before_{};
};

class TargetProcess {
 public:
  // Returns after the program has printed "ready".
  explicit TargetProcess(std::vector<std::string> command);
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  Pid pid() const { return pid_; }
  bool ended();          // does not wait
  int wait();            // returns the wait status after the end
  std::string output();  // all that it printed after "ready"; REQUIRES: it has ended

 private:
  Pid pid_ = 0;
  Fd output_;
  bool reaped_ = false;
  int status_ = 0;
};

// Returns true as soon as the condition holds, and false if it does not within `limit_ns`.
template <typename Condition>
bool eventually(Nanoseconds limit_ns, Condition&& condition) {
  Patience patience(limit_ns);
  while (!condition()) {
    if (patience.over()) return false;
    sleep_until(monotonic_now() + kMillisecond);
  }
  return true;
}

}  // namespace causalctl::tracee::test
