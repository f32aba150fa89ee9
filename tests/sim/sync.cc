#include "tests/sim/sync.h"

#include <utility>

namespace causalctl::sim {
namespace {

Thread* take_first(std::deque<Thread*>& waiters) {
  if (waiters.empty()) return nullptr;
  Thread* first = waiters.front();
  waiters.pop_front();
  return first;
}

}  // namespace

Task Mutex::lock(Thread& self) {
  while (held_) {
    waiters_.push_back(&self);
    co_await self.block();
  }
  held_ = true;
}

void Mutex::unlock(Thread& self) {
  held_ = false;
  if (Thread* next = take_first(waiters_)) self.machine().wake(*next);
}

Task FairMutex::lock(Thread& self) {
  if (held_) {
    waiters_.push_back(&self);
    co_await self.block();
  }
  held_ = true;
}

void FairMutex::unlock(Thread& self) {
  Thread* next = take_first(waiters_);
  held_ = next != nullptr;
  if (next != nullptr) self.machine().wake(*next);
}

Task Barrier::wait(Thread& self) {
  if (waiting_.size() + 1 < parties_) {
    waiting_.push_back(&self);
    co_await self.block();
    co_return;
  }
  for (Thread* each : std::exchange(waiting_, {})) self.machine().wake(*each);
}

Task Condition::wait(Thread& self, Mutex& mutex) {
  waiters_.push_back(&self);
  mutex.unlock(self);
  co_await self.block();
  co_await mutex.lock(self);
}

void Condition::signal(Thread& self) {
  if (Thread* next = take_first(waiters_)) self.machine().wake(*next);
}

Task Semaphore::take(Thread& self) {
  while (count_ == 0) {
    waiters_.push_back(&self);
    co_await self.block();
  }
  --count_;
}

void Semaphore::post(Machine& machine) {
  ++count_;
  if (Thread* next = take_first(waiters_)) machine.wake(*next);
}

Task LockedQueue::push(Thread& self) {
  co_await mutex_.lock(self);
  while (items_ == capacity_) co_await emptied_.wait(self, mutex_);
  ++items_;
  filled_.signal(self);
  mutex_.unlock(self);
}

Task LockedQueue::pop(Thread& self) {
  co_await mutex_.lock(self);
  while (items_ == 0) co_await filled_.wait(self, mutex_);
  --items_;
  emptied_.signal(self);
  mutex_.unlock(self);
}

Task Pipe::push(Thread& self) {
  co_await room_.take(self);
  items_.post(self.machine());
}

Task Pipe::pop(Thread& self) {
  co_await items_.take(self);
  room_.post(self.machine());
}

Task SpinFlag::reach(Thread& self, Line line, std::uint64_t count) {
  if (count_ >= count) co_return;
  spinning_.emplace_back(&self, count);
  co_await self.spin(line);
}

void SpinFlag::raise(Machine& machine) {
  ++count_;
  for (const auto& [thread, count] : spinning_) {
    if (count_ >= count) machine.stop_spinning(*thread);
  }
  std::erase_if(spinning_, [&](const auto& each) { return count_ >= each.second; });
}

}  // namespace causalctl::sim
