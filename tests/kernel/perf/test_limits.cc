// What happens without privileges, and when a ring is too small for what is written.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/base/clock.h"
#include "controller/perf/event.h"
#include "tests/kernel/perf/child.h"

using namespace causalctl;
using namespace causalctl::perf;
using namespace causalctl::perf::test;

namespace {

// Forks, becomes `nobody`, and profiles a child of its own. 0, or the number of what was wrong.
int profile_as_nobody() {
  constexpr uid_t kNobody = 65534;
  if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) {
    return 1;
  }
  Child child([] { spin_for(100 * kMillisecond); });
  Session session(child.pid(), {});
  const auto& limits = session.limits();
  if (limits.kernel_samples || limits.wake_edges || limits.reasons.size() != 2) return 2;
  session.start();
  child.go();
  std::vector<Event> events;
  if (!drain_until(session, events, [&](const auto&) { return !session.target_alive(); })) return 3;
  if (only<SampleEvent>(events).size() < 50) return 4;
  if (only<SwitchEvent>(events).empty()) return 5;
  if (only<ThreadExitEvent>(events).size() != 1) return 6;
  try {
    const Session forbidden(1, {});
    return 7;
  } catch (const Error& error) {
    if (error.hint().find("perf_event_paranoid") == std::string::npos) return 8;
  }
  return 0;
}

}  // namespace

TEST_CASE("Without privileges everything but kernel samples and wake edges works", "[perf]") {
  if (!perf_is_allowed()) return;
  if (geteuid() != 0) {
    WARN("not root: cannot become nobody");
    return;
  }
  if (system_facts().paranoid != 2) {
    {
      WARN("perf_event_paranoid is " << system_facts().paranoid << ", this test is about 2");
      return;
    }
  }
  const pid_t pid = fork();
  if (pid == 0) {
    int result = 99;
    try {
      result = profile_as_nobody();
    } catch (const std::exception&) {
      result = 98;
    }
    _exit(result);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
}

TEST_CASE("Records that found no room are counted, and the session goes on", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    for (int i = 0; i < 20000; ++i) syscall(SYS_sched_yield);
    for (int i = 0; i < 5000; ++i) sleep_until(monotonic_now() + 1);
    for (;;) sleep_until(monotonic_now() + 5 * kMillisecond);
  });
  Session session(child.pid(), {});
  session.start();
  child.go();
  // Not read until far more has happened than there is room for.
  const auto deadline = monotonic_now() + 10 * kSecond;
  while (cpu_time_of(child.pid()) < 30 * kMillisecond && monotonic_now() < deadline) {
    sleep_until(monotonic_now() + 20 * kMillisecond);
  }
  sleep_until(monotonic_now() + 500 * kMillisecond);
  std::vector<Event> events;
  REQUIRE(
      drain_until(session, events, [&](const auto&) { return session.losses().records_lost > 0; }));
  events.clear();
  REQUIRE(drain_until(session, events,
                      [](const auto& all) { return only<SwitchEvent>(all).size() > 10; }));
  REQUIRE(session.target_alive());
}
