#include "controller/callpath/engine/waits.h"

#include <algorithm>
#include <utility>

#include "controller/callpath/record/recording.h"
#include "controller/perf/events.h"

namespace causalctl::callpath {
namespace {

// A thread that waits for less will run again soon, and its switch may be sampled.
constexpr Nanoseconds kReadAfter = 50 * kMillisecond;

}  // namespace

Waits::Thread* Waits::find(ThreadId thread) {
  const auto known = threads_.find(thread.tid);
  if (known == threads_.end() || known->second.id != thread) return nullptr;
  return &known->second.thread;
}

// Counts the time since the last change. Records of several rings may be out of order by some
// nanoseconds.
void Waits::pass(Thread& thread, Nanoseconds time_ns) const {
  const Nanoseconds since_ns = std::max(thread.since_ns, start_ns_);
  const Nanoseconds passed_ns = std::max<Nanoseconds>(0, time_ns - since_ns);
  ThreadTimes& times = thread.times;
  if (thread.state == State::running) {
    times.on_core_ns += passed_ns;
    thread.fresh_on_core_ns += passed_ns;
    thread.unproved_ns += passed_ns;
  }
  if (thread.state == State::blocked) {
    times.blocked_ns += passed_ns;
    thread.blocked_ns += passed_ns;
    thread.whole_blocked_ns += passed_ns;
  }
  if (thread.state == State::runnable) {
    times.runnable_ns += passed_ns;
    thread.runnable_ns += passed_ns;
  }
  if (thread.state == State::stopped) {
    times.stopped_ns += passed_ns;
    thread.stopped_ns += passed_ns;
  }
  if (thread.state == State::frozen) {
    times.frozen_ns += passed_ns;
    thread.frozen_ns += passed_ns;
  }
  thread.since_ns = std::max(thread.since_ns, time_ns);
}

void Waits::begin(ThreadId id, Nanoseconds time_ns, bool blocked) {
  Thread thread;
  thread.state = blocked ? State::blocked : State::running;
  thread.since_ns = thread.left_ns = thread.seen_ns = time_ns;
  threads_.insert_or_assign(id.tid, Known{id, thread});
}

void Waits::leaving(ThreadId id, const Left& left, std::uint16_t place) {
  Thread* thread = find(id);
  if (thread == nullptr) return;
  thread->next = left;
  if (place == 0) return;
  const auto [known, is_new] = thread->at_places.try_emplace(place, Thread::AtPlace{left});
  if (is_new) return;
  auto& [last, differs] = known->second;
  differs = last.user == left.user && (differs || last.path != left.path);
  last = left;
}

void Waits::leave(ThreadId id, Nanoseconds time_ns, bool preempted, std::uint16_t place) {
  Thread* thread = find(id);
  if (thread == nullptr) return;
  pass(*thread, time_ns);
  thread->unproved_ns = 0;
  thread->seen_ns = time_ns;
  thread->has_run = has_switched_ = true;
  std::optional<Left> left = std::exchange(thread->next, std::nullopt);
  bool differs_in_kernel = false;
  if (const auto last = thread->at_places.find(place); !left && last != thread->at_places.end()) {
    left = last->second.last;
    differs_in_kernel = last->second.differs_in_kernel;
  }
  const bool stops = left && !left->in_call && was_stopped_lately(time_ns);
  begin_wait(*thread, preempted ? State::runnable : stops ? State::stopped : off_core());
  thread->left_ns = time_ns;
  if (!left) return;
  thread->path = left->path;
  if (differs_in_kernel) thread->path_if_long = left->user;
  thread->is_complete = left->is_complete;
}

void Waits::begin_wait(Thread& thread, State state) {
  thread.state = state;
  thread.was_asked_for = false;
  thread.path.reset();
  thread.path_if_long.reset();
  thread.is_complete = false;
  thread.whole_blocked_ns = 0;
  thread.waker = Waker::unseen;
  thread.waker_path.reset();
}

bool Waits::was_stopped_lately(Nanoseconds now_ns) const {
  return stopped_ns_ != 0 && now_ns - stopped_ns_ < kSecond;
}

Waits::State Waits::off_core() const {
  if (halt_is_over_) return State::blocked;
  if (halt_ == session::Halt::stopped) return State::stopped;
  return halt_ == session::Halt::frozen ? State::frozen : State::blocked;
}

// Also of a thread that was not seen to run: it has been standing still since before it was seen.
void Waits::stand_still(Thread& thread, Nanoseconds before_ns, Nanoseconds now_ns) const {
  if (thread.state == State::running && !thread.has_run && before_ns == 0) {
    begin_wait(thread, State::blocked);
    const Nanoseconds waited_ns = std::exchange(thread.unproved_ns, 0);
    thread.fresh_on_core_ns -= waited_ns;
    thread.times.on_core_ns -= waited_ns;
    thread.since_ns -= waited_ns;
  }
  if (thread.state != State::blocked) return;
  pass(thread, now_ns);
  thread.state = off_core();
  if (thread.left_ns < before_ns) return;
  const Nanoseconds stood_ns = std::exchange(thread.blocked_ns, 0);
  const bool stopped = thread.state == State::stopped;
  (stopped ? thread.stopped_ns : thread.frozen_ns) += stood_ns;
  (stopped ? thread.times.stopped_ns : thread.times.frozen_ns) += stood_ns;
  thread.whole_blocked_ns -= stood_ns;
  thread.times.blocked_ns -= stood_ns;
}

// A signal that continues a process wakes all of its threads; one that is thawed may have been
// frozen where it was blocked, and is so again.
void Waits::look(session::Halt halt, Nanoseconds before_ns, Nanoseconds now_ns) {
  const session::Halt before = std::exchange(halt_, halt);
  halt_is_over_ = false;
  before_ns_ = before == halt ? before_ns : 0;
  if (before != halt) halted_after_ns_ = before_ns;
  if (halt == session::Halt::stopped) stopped_ns_ = now_ns;
  const bool none = before == session::Halt::none && halt == session::Halt::none;
  if (none && !was_stopped_lately(now_ns)) return;
  for (auto& [tid, known] : threads_) {
    Thread& thread = known.thread;
    if ((before != halt || none) && stands_still(thread)) {
      pass(thread, now_ns);
      const bool goes_on = thread.state == State::stopped && halt == session::Halt::none;
      thread.state = goes_on ? State::runnable : State::blocked;
      thread.left_ns = std::min(thread.left_ns, before_ns - 1);
    }
    if (halt != session::Halt::none) stand_still(thread, before_ns, now_ns);
  }
}

// Of a halt, a record that would show it was told before the last look, or is lost.
bool Waits::stands_nowhere_known(const Thread& thread, Nanoseconds now_ns) const {
  if (stands_still(thread)) return !thread.path;
  if (halt_ != session::Halt::none) return thread.seen_ns < before_ns_;
  return thread.state == State::blocked && !thread.path && now_ns - thread.left_ns >= kReadAfter;
}

std::vector<ThreadId> Waits::without_path(std::size_t most, Nanoseconds now_ns) {
  std::vector<ThreadId> threads;
  for (auto& [tid, known] : threads_) {
    Thread& thread = known.thread;
    if (thread.was_asked_for || !stands_nowhere_known(thread, now_ns)) continue;
    if (threads.size() == most) break;
    thread.was_asked_for = true;
    threads.push_back(known.id);
  }
  return threads;
}

std::optional<Wait> Waits::stands_on(ThreadId id, NodeId path, bool is_complete,
                                     Nanoseconds read_ns) {
  Thread* thread = find(id);
  if (thread == nullptr || thread->seen_ns > read_ns) return std::nullopt;
  const bool was_awake = thread->state == State::running || thread->state == State::runnable;
  if (was_awake && halt_ == session::Halt::none) return std::nullopt;
  std::optional<Wait> over;
  doubt(*thread);
  if (thread->state == State::runnable) {
    pass(*thread, read_ns);
    over = take(id, *thread, true);
    begin_wait(*thread, off_core());
  } else if (was_awake) {
    thread->left_ns = thread->seen_ns;
    stand_still(*thread, halted_after_ns_, read_ns);
  }
  if (thread->path) return over;
  thread->path = path;
  thread->is_complete = is_complete;
  return over;
}

void Waits::wake(Tid tid, Nanoseconds time_ns, Waker waker) {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return;
  Thread& thread = known->second.thread;
  if (thread.state == State::running) thread.early = {time_ns, waker};
  if (thread.state != State::blocked) return;
  pass(thread, time_ns);
  thread.seen_ns = time_ns;
  thread.state = State::runnable;
  thread.waker = waker;
}

void Waits::woken_by(Tid tid, NodeId path) {
  const auto known = threads_.find(tid);
  if (known == threads_.end() || known->second.thread.state == State::running) return;
  if (!known->second.thread.waker_path) known->second.thread.waker_path = path;
}

// The wait of a thread that was woken when it was about to leave its core was for a core. If a part
// of the wait has been told already, it was too long for that.
void Waits::take_early_wake(Thread& thread, Nanoseconds came_ns) {
  const auto early = std::exchange(thread.early, std::nullopt);
  if (!early || thread.state != State::blocked || thread.whole_blocked_ns > 0) return;
  if (!perf::ended_early(early->at_ns, thread.left_ns, came_ns)) return;
  thread.state = State::runnable;
  thread.waker = early->waker;
}

// A thread that comes to a core was not on one: the record of its leaving is lost, or it has been
// waiting for a core, or stopped, since it was first seen.
void Waits::doubt(Thread& thread) const {
  if (thread.state != State::running) return;
  const Nanoseconds waited_ns = std::exchange(thread.unproved_ns, 0);
  thread.fresh_on_core_ns -= waited_ns;
  thread.times.on_core_ns -= waited_ns;
  begin_wait(thread, thread.has_run ? State::blocked : State::runnable);
  const Nanoseconds until_ns = std::exchange(thread.since_ns, thread.since_ns - waited_ns);
  pass(thread, until_ns);
}

std::optional<Wait> Waits::come(ThreadId id, Nanoseconds time_ns) {
  Thread* thread = find(id);
  if (thread == nullptr) return std::nullopt;
  take_early_wake(*thread, time_ns);
  pass(*thread, time_ns);
  doubt(*thread);
  has_switched_ = true;
  if (stands_still(*thread)) halt_is_over_ = true;
  return on_core(id, *thread, time_ns);
}

std::optional<Wait> Waits::runs(ThreadId id, Nanoseconds time_ns) {
  Thread* thread = find(id);
  if (thread == nullptr) return std::nullopt;
  // A sample of before it left.
  if (thread->state != State::running && time_ns <= thread->since_ns) return std::nullopt;
  return on_core(id, *thread, time_ns);
}

std::optional<Wait> Waits::on_core(ThreadId id, Thread& thread, Nanoseconds time_ns) const {
  pass(thread, time_ns);
  thread.unproved_ns = 0;
  thread.seen_ns = std::max(thread.seen_ns, time_ns);
  thread.has_run = true;
  thread.next.reset();  // of a switch whose record is lost
  const bool waited = std::exchange(thread.state, State::running) != State::running;
  return waited && time_ns > start_ns_ ? std::optional(take(id, thread, true)) : std::nullopt;
}

void Waits::end(ThreadId id) {
  if (find(id) != nullptr) threads_.erase(id.tid);
}

std::vector<Wait> Waits::cut(Nanoseconds time_ns) {
  std::vector<Wait> waits;
  for (auto& [tid, known] : threads_) {
    pass(known.thread, time_ns);
    if (known.thread.state != State::blocked) known.thread.was_asked_for = false;
    if (known.thread.state == State::running) continue;
    waits.push_back(take(known.id, known.thread, false));
  }
  return waits;
}

std::optional<Nanoseconds> Waits::take_on_core(ThreadId id, bool is_last) {
  Thread* thread = find(id);
  if (thread == nullptr) return std::nullopt;
  const Nanoseconds left_ns = is_last && thread->has_run ? 0 : thread->unproved_ns;
  const Nanoseconds taken_ns = std::exchange(thread->fresh_on_core_ns, left_ns) - left_ns;
  return has_switched_ ? std::optional(taken_ns) : std::nullopt;
}

std::vector<ThreadId> Waits::threads() const {
  std::vector<ThreadId> ids;
  for (const auto& [tid, known] : threads_) ids.push_back(known.id);
  return ids;
}

Wait Waits::take(ThreadId id, Thread& thread, bool over) {
  Wait wait;
  wait.thread = id;
  const bool is_long = thread.whole_blocked_ns >= kLongWait;
  wait.path = is_long && thread.path_if_long ? thread.path_if_long : thread.path;
  wait.blocked_ns = std::exchange(thread.blocked_ns, 0);
  wait.runnable_ns = std::exchange(thread.runnable_ns, 0);
  wait.stopped_ns = std::exchange(thread.stopped_ns, 0);
  wait.frozen_ns = std::exchange(thread.frozen_ns, 0);
  wait.is_complete = thread.is_complete;
  wait.over = over;
  wait.whole_blocked_ns = thread.whole_blocked_ns;
  wait.is_woken = over || thread.state != State::blocked;
  if (wait.is_woken) {
    wait.waker = thread.waker;
    wait.waker_path = thread.waker_path;
  }
  return wait;
}

}  // namespace causalctl::callpath
