// Closes events in a thread of its own, because the kernel takes long to close some (a uprobe some
// 50 ms). Only the destructor waits for it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "controller/base/fd.h"
#include "controller/perf/event.h"

namespace causalctl::perf {

class EventCloser {
 public:
  EventCloser() = default;
  ~EventCloser();  // returns when all are closed
  EventCloser(const EventCloser&) = delete;
  EventCloser& operator=(const EventCloser&) = delete;

  // Each starts the thread at the first call with any event, and closes them in their order.
  void close(std::vector<EventFd> events);
  void close(std::vector<Fd> events);
  // Returns whether some are not closed yet. Opening a uprobe waits for that, in the kernel.
  bool is_busy() const;

 private:
  void work();

  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Fd> waiting_;
  bool closing_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace causalctl::perf
