// Small programs to profile, forked from the test binary, and the loop that drains a session.
#pragma once

#include <sys/types.h>

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/perf/session.h"

namespace causalctl::perf::test {

// Runs `body` in a forked child, which is killed and reaped at the end of the test. `body` must not
// return to the test: the child ends with it. It begins after the first go().
class Child {
 public:
  explicit Child(const std::function<void()>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Pid pid() const { return pid_; }
  void go();                  // lets the body run; later calls let one await_go() in it return
  void kill();                // kills and reaps the child
  void wait_for_end() const;  // waits for the end of the body, but does not reap the child

 private:
  Pid pid_ = -1;
  int go_fd_ = -1;
};

void await_go();                    // called by a child's body: waits for the next go()
void spin_for(Nanoseconds cpu_ns);  // burns this much CPU time of the calling thread
Nanoseconds cpu_time_of(Pid pid);   // of the whole process up to now

// Drains every millisecond and appends to `events` until `done(events)` is true or time is up.
// Returns whether it is true.
bool drain_until(Session& session, std::vector<Event>& events,
                 const std::function<bool(const std::vector<Event>&)>& done,
                 Nanoseconds timeout_ns = 10 * kSecond);

// Lets the body run, and again when its second thread is followed, for which the body waits.
void go_until_both_followed(Child& child, Session& session, std::vector<Event>& events);

template <typename T>
std::vector<T> only(const std::vector<Event>& events) {
  std::vector<T> found;
  for (const auto& event : events) {
    if (const auto* each = std::get_if<T>(&event)) found.push_back(*each);
  }
  return found;
}

// Has the test run twice: its session follows switches and wake-ups by BPF programs, where that
// works, and by perf events.
inline SessionOptions either_way(SessionOptions options = {}) {
  options.scheduler = GENERATE(true, false);
  return options;
}

// Returns false, and says so, if perf events are forbidden altogether.
bool perf_is_allowed();

}  // namespace causalctl::perf::test
