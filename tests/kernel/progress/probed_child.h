// A child process that executes the probed code on request, a known number of times.
#pragma once

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace probed {

class Child {
 public:
  Child();
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  causalctl::Pid pid() const { return pid_; }

  // Calls every probed function, and the system call getppid, `times` times from the main thread.
  // Returns when this is done.
  void hit(unsigned times) { ask('h', times); }
  // Starts a second thread, which waits. Call it once.
  void start_thread() { ask('n', 0); }
  void hit_in_thread(unsigned times) { ask('t', times); }  // REQUIRES: start_thread() was called
  unsigned semaphore() { return ask('s', 0); }

 private:
  unsigned ask(char what, unsigned argument);

  causalctl::Pid pid_ = 0;
  causalctl::Fd socket_;
};

}  // namespace probed
