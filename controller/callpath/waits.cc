#include "controller/callpath/waits.h"

#include <algorithm>
#include <utility>

namespace causalctl::callpath {

Waits::Thread* Waits::find(ThreadId thread) {
  const auto known = threads_.find(thread.tid);
  if (known == threads_.end() || known->second.id != thread) return nullptr;
  return &known->second.thread;
}

// Counts the time since the last change. Records of several rings may be out of order by some
// nanoseconds.
void Waits::pass(ThreadId id, Thread& thread, Nanoseconds time_ns) {
  const Nanoseconds passed_ns = std::max<Nanoseconds>(0, time_ns - thread.since_ns);
  ThreadTimes& times = times_[id];
  if (thread.state == State::running) times.on_core_ns += passed_ns;
  if (thread.state == State::blocked) {
    times.blocked_ns += passed_ns;
    thread.blocked_ns += passed_ns;
  }
  if (thread.state == State::runnable) {
    times.runnable_ns += passed_ns;
    thread.runnable_ns += passed_ns;
  }
  thread.since_ns = std::max(thread.since_ns, time_ns);
}

void Waits::begin(ThreadId id, Nanoseconds time_ns, bool blocked) {
  Thread thread;
  thread.state = blocked ? State::blocked : State::running;
  thread.since_ns = time_ns;
  threads_.insert_or_assign(id.tid, Known{id, thread});
  times_.try_emplace(id);
}

void Waits::leaving(ThreadId id, NodeId path) {
  if (Thread* thread = find(id)) thread->next_path = path;
}

void Waits::leave(ThreadId id, Nanoseconds time_ns, bool preempted) {
  Thread* thread = find(id);
  if (thread == nullptr) return;
  pass(id, *thread, time_ns);
  thread->state = preempted ? State::runnable : State::blocked;
  thread->path = std::exchange(thread->next_path, std::nullopt);
}

void Waits::wake(Tid tid, Nanoseconds time_ns) {
  const auto known = threads_.find(tid);
  if (known == threads_.end() || known->second.thread.state != State::blocked) return;
  pass(known->second.id, known->second.thread, time_ns);
  known->second.thread.state = State::runnable;
}

std::optional<Wait> Waits::come(ThreadId id, Nanoseconds time_ns) {
  Thread* thread = find(id);
  if (thread == nullptr) return std::nullopt;
  pass(id, *thread, time_ns);
  const bool waited = std::exchange(thread->state, State::running) != State::running;
  return waited ? std::optional(take(id, *thread, true)) : std::nullopt;
}

std::optional<Wait> Waits::end(ThreadId id, Nanoseconds time_ns) {
  auto wait = come(id, time_ns);
  if (find(id) != nullptr) threads_.erase(id.tid);
  return wait;
}

std::vector<Wait> Waits::cut(Nanoseconds time_ns) {
  std::vector<Wait> waits;
  for (auto& [tid, known] : threads_) {
    pass(known.id, known.thread, time_ns);
    if (known.thread.state == State::running) continue;
    waits.push_back(take(known.id, known.thread, false));
  }
  return waits;
}

Wait Waits::take(ThreadId id, Thread& thread, bool over) {
  return {id, thread.path, std::exchange(thread.blocked_ns, 0),
          std::exchange(thread.runnable_ns, 0), over};
}

}  // namespace causalctl::callpath
