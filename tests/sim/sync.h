// Objects on which threads wait for each other, built on Machine::wake and Thread::block as the C
// library builds them on the futex: the waker is always the thread that frees the other one.
#pragma once

#include <deque>
#include <vector>

#include "tests/sim/machine.h"

namespace causalctl::sim {

// Unfair, like glibc's: a running thread may take it before the woken waiter does, which then waits
// again.
class Mutex {
 public:
  Task lock(Thread& self);
  void unlock(Thread& self);

 private:
  bool held_ = false;
  std::deque<Thread*> waiters_;
};

// First come, first served: unlock passes it on, so that the next thread always queues (a convoy).
class FairMutex {
 public:
  Task lock(Thread& self);
  void unlock(Thread& self);

 private:
  bool held_ = false;
  std::deque<Thread*> waiters_;
};

class Barrier {
 public:
  explicit Barrier(unsigned parties) : parties_(parties) {}
  Task wait(Thread& self);

 private:
  unsigned parties_;
  std::vector<Thread*> waiting_;
};

class Condition {
 public:
  Task wait(Thread& self, Mutex& mutex);
  void signal(Thread& self);

 private:
  std::deque<Thread*> waiters_;
};

// A counter that no thread takes below 0: one futex word without a lock. A device may call post().
class Semaphore {
 public:
  explicit Semaphore(unsigned count) : count_(count) {}
  Task take(Thread& self);
  void post(Machine& machine);
  unsigned count() const { return count_; }

 private:
  unsigned count_;
  std::deque<Thread*> waiters_;
};

// Bounded; made of a mutex and two conditions.
class LockedQueue {
 public:
  explicit LockedQueue(unsigned capacity) : capacity_(capacity) {}
  Task push(Thread& self);
  Task pop(Thread& self);

 private:
  unsigned capacity_;
  unsigned items_ = 0;
  Mutex mutex_;
  Condition filled_, emptied_;
};

// Bounded, without a lock in user space, like a pipe or a pair of futex counters.
class Pipe {
 public:
  explicit Pipe(unsigned capacity) : room_(capacity) {}
  Task push(Thread& self);
  Task pop(Thread& self);

 private:
  Semaphore room_;
  Semaphore items_{0};
};

// Waiters use CPU time on `line` until the flag has been raised as many times as they ask for.
class SpinFlag {
 public:
  Task reach(Thread& self, Line line, std::uint64_t count);
  void raise(Machine& machine);

 private:
  std::uint64_t count_ = 0;
  std::vector<std::pair<Thread*, std::uint64_t>> spinning_;
};

}  // namespace causalctl::sim
