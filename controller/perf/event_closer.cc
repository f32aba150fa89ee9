#include "controller/perf/event_closer.h"

#include <iterator>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/thread.h"

namespace causalctl::perf {

EventCloser::~EventCloser() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(lock_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void EventCloser::close(std::vector<EventFd> events) {
  std::vector<Fd> all;
  for (EventFd& event : events) all.push_back(event.release());
  close(std::move(all));
}

void EventCloser::close(std::vector<Fd> events) {
  if (events.empty()) return;
  if (!thread_.joinable()) {
    try {
      thread_ = start_thread("closing events", [this] { work(); });
    } catch (const Error&) {
      return;  // the caller's vector closes them here
    }
  }
  const std::lock_guard guard(lock_);
  waiting_.insert(waiting_.end(), std::make_move_iterator(events.begin()),
                  std::make_move_iterator(events.end()));
  changed_.notify_one();
}

bool EventCloser::is_busy() const {
  const std::lock_guard guard(lock_);
  return closing_ || !waiting_.empty();
}

void EventCloser::work() {
  std::unique_lock guard(lock_);
  for (;;) {
    changed_.wait(guard, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::vector<Fd> now = std::exchange(waiting_, {});
    closing_ = true;
    guard.unlock();
    now.clear();
    guard.lock();
    closing_ = false;
  }
}

}  // namespace causalctl::perf
