// Tests sampling under a low kernel.perf_event_max_sample_rate. It lowers the limit of the whole
// machine for some seconds, so it is in the suite kernel-alone.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include "controller/base/clock.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/skip.h"

namespace causalctl::perf::test {

namespace {

// Sets the limit back in a process of its own, when the other end of its pipe is closed: also if
// the test is killed.
class LoweredLimit {
 public:
  explicit LoweredLimit(int limit) {
    const int before = get();
    REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
    guard_ = fork();
    REQUIRE(guard_ >= 0);
    if (guard_ == 0) guard(before);
    close(ends_[0]);
    set(limit);
  }
  ~LoweredLimit() {
    close(ends_[1]);
    waitpid(guard_, nullptr, 0);
  }
  LoweredLimit(const LoweredLimit&) = delete;
  LoweredLimit& operator=(const LoweredLimit&) = delete;

  static int get() {
    int limit = 0;
    std::ifstream(kPath) >> limit;
    return limit;
  }
  // Whether we may set it: /proc/sys may be read-only, also for root.
  static bool may_be_set() { return get() > 0 && set(get()); }

 private:
  static constexpr const char* kPath = "/proc/sys/kernel/perf_event_max_sample_rate";

  static bool set(int limit) {
    return static_cast<bool>(std::ofstream(kPath) << limit << std::flush);
  }

  [[noreturn]] void guard(int before) const {
    setsid();  // what kills the test's group does not kill it
    close(ends_[1]);
    char none = 0;
    while (read(ends_[0], &none, 1) < 0 && errno == EINTR) {
    }
    set(before);
    _exit(0);
  }

  int ends_[2] = {-1, -1};
  Pid guard_ = -1;
};

bool may_keep_core() {
  const sched_param priority{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) return false;
  const sched_param usual{.sched_priority = 0};
  return sched_setscheduler(0, SCHED_OTHER, &usual) == 0;
}

// A thread may be sampled again each time it gets a core. This one keeps its core.
void keep_core() {
  const sched_param priority{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) _exit(1);
}

// Shares the core with a process that always wants to run: the kernel alternates them, mostly at
// ticks.
void share_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(1);
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) spin_for(kSecond);
}

}  // namespace

TEST_CASE("Throttled samples stand for all CPU time together", "[.full][throttling]") {
  if (!perf_is_allowed()) return;
  if (!LoweredLimit::may_be_set()) {
    return causalctl::test::skip_test_case("we may not lower the kernel's limit of samples");
  }
  if (!may_keep_core()) {
    return causalctl::test::skip_test_case("no thread of ours may have SCHED_FIFO");
  }
  constexpr Nanoseconds kBusy = kSecond;
  const bool shares = GENERATE(false, true);
  // Those of cores are given up for those of threads.
  const Clocks clocks = GENERATE(Clocks::threads, Clocks::cores);
  CAPTURE(shares, static_cast<int>(clocks));
  Child child([shares] {
    shares ? share_core() : keep_core();
    spin_for(kBusy);
  });
  Session session(child.pid(), {.clocks = clocks});
  const bool began_by_core = session.by_core();
  const auto usual = session.sample_rate_limit();
  REQUIRE(usual);
  std::vector<Event> events;
  {
    const LoweredLimit lowered(250);  // allows mostly one sample a tick
    CHECK(session.sample_rate_limit() == 250);
    session.start();
    child.go();
    REQUIRE(drain_until(session, events, [&](const auto&) { return !session.target_alive(); }));
  }
  CHECK(session.sample_rate_limit() == usual);

  const auto samples = only<SampleEvent>(events);
  Nanoseconds sampled_ns = 0;
  for (const SampleEvent& sample : samples) sampled_ns += sample.period_ns;
  const SessionLosses losses = session.losses();
  CHECK(sampled_ns + losses.unsampled_ns > kBusy * 9 / 10);
  CHECK(sampled_ns + losses.unsampled_ns < kBusy * 11 / 10);
  if (!shares) {
    CHECK(losses.throttles > 50);
    CHECK(samples.size() < 800);              // of a thousand without the limit
    CHECK(losses.unsampled_ns < kBusy / 10);  // in this kernel samples stand for nearly all of it
    CHECK_FALSE(session.by_core());
    const auto& reasons = session.limits().reasons;
    const bool told = std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
      return reason.find("took no samples") != reason.npos;
    });
    CHECK(told == began_by_core);
  }
  WARN("sampled " << sampled_ns << ", not sampled " << losses.unsampled_ns << ", throttles "
                  << losses.throttles);
}

}  // namespace causalctl::perf::test
