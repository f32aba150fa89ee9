// Closes events that the kernel takes long to close (a uprobe's some 50 ms) in a thread of its own,
// so that nobody waits for it but the destructor.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "controller/perf/event.h"

namespace causalctl::perf {

class EventCloser {
 public:
  EventCloser() = default;
  ~EventCloser();  // returns when all are closed
  EventCloser(const EventCloser&) = delete;
  EventCloser& operator=(const EventCloser&) = delete;

  void close(std::vector<EventFd> events);  // the first call with any starts the thread

 private:
  void work();

  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<EventFd> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace causalctl::perf
