#include "tests/kernel/perf/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "controller/base/clock.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::perf::test {
namespace {

int go_fd_of_child = -1;

Nanoseconds clock_value(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace

Child::Child(const std::function<void()>& body) {
  int pipe_fds[2];
  REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
  pid_ = fork();
  if (pid_ == 0) {
    close(pipe_fds[1]);
    go_fd_of_child = pipe_fds[0];
    await_go();
    body();
    _exit(0);
  }
  REQUIRE(pid_ > 0);
  close(pipe_fds[0]);
  go_fd_ = pipe_fds[1];
}

Child::~Child() {
  kill();
  close(go_fd_);
}

void Child::go() { REQUIRE(write(go_fd_, "", 1) == 1); }

void Child::wait_for_end() const {
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0);
}

void Child::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void await_go() {
  char byte = 0;
  if (read(go_fd_of_child, &byte, 1) != 1) _exit(1);  // the test has ended
}

void spin_for(Nanoseconds cpu_ns) {
  const auto end = clock_value(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (clock_value(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (int i = 0; i < 50'000; ++i) asm volatile("" : "+r"(i));
  }
}

Nanoseconds cpu_time_of(Pid pid) {
  clockid_t clock = 0;
  REQUIRE(clock_getcpuclockid(pid, &clock) == 0);
  return clock_value(clock);
}

bool drain_until(Session& session, std::vector<Event>& events,
                 const std::function<bool(const std::vector<Event>&)>& done,
                 Nanoseconds timeout_ns) {
  const auto deadline = monotonic_now() + timeout_ns;
  for (;;) {
    const auto now = monotonic_now();
    auto drained = session.drain(now);
    events.insert(events.end(), drained.begin(), drained.end());
    if (done(events)) {
      if (!session.target_alive()) {  // the latest events are held back for a moment
        auto last = session.drain(monotonic_now() + kMillisecond);
        events.insert(events.end(), last.begin(), last.end());
      }
      return true;
    }
    if (now > deadline) return false;
    sleep_until(now + kMillisecond);
  }
}

void go_until_both_followed(Child& child, Session& session, std::vector<Event>& events) {
  child.go();
  REQUIRE(drain_until(session, events, [&](const auto&) { return session.threads().size() == 2; }));
  child.go();
}

bool perf_is_allowed() {
  try {
    return EventFd::open(bookkeeping_attr(), 0, "bookkeeping").has_value();
  } catch (const Error& error) {
    WARN("perf events are forbidden here, nothing tested: " << error.what());
    return false;
  }
}

}  // namespace causalctl::perf::test
