// Tests a session without privileges, without tracefs, and with a ring that is too small for its
// records.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/base/tracefs.h"
#include "controller/compare/usage.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"
#include "controller/perf/process_set.h"
#include "tests/kernel/perf/child.h"

namespace causalctl::perf::test {

namespace {

bool become_nobody() {
  constexpr uid_t kNobody = 65534;
  if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) {
    return false;
  }
  // The change of user cleared this flag; without it an ordinary user may not profile this process.
  return prctl(PR_SET_DUMPABLE, 1) == 0;
}

// Profiles a child of its own. Returns 0, or the number of the check that failed.
int profile_as_nobody() {
  if (!become_nobody()) return 1;
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
    if (error.hint().find("another user") == std::string::npos) return 8;
  }
  return 0;
}

// Of a set, init may not be followed, and a child of its own may. Returns as profile_as_nobody().
int profile_a_set_as_nobody() {
  class Members final : public ProcessSet {
   public:
    explicit Members(std::vector<Pid> pids) : pids_(std::move(pids)) {}
    std::vector<Pid> present() override { return pids_; }
    bool takes_children() const override { return false; }
    bool is_open() const override { return true; }
    bool after_exec(Pid, const Program&, bool is_member) override { return is_member; }

   private:
    std::vector<Pid> pids_;
  };
  if (!become_nobody()) return 1;
  Child child([] { spin_for(100 * kMillisecond); });
  Session session(std::make_shared<Members>(std::vector<Pid>{1, child.pid()}), {});
  const auto& forbidden = session.limits().forbidden;
  if (forbidden.size() != 1 || !forbidden.contains(1)) return 2;
  if (forbidden.at(1).name.empty()) return 3;
  if (forbidden.at(1).reason.find("another user") == std::string::npos) return 4;
  session.start();
  child.go();
  std::vector<Event> events;
  const bool ended = drain_until(session, events, [&](const std::vector<Event>& all) {
    return only<ThreadExitEvent>(all).size() == 1;
  });
  if (!ended || only<SampleEvent>(events).size() < 50) return 5;
  if (only<ThreadStartEvent>(events).size() != 1) return 6;
  try {
    const Session nobody_left(std::make_shared<Members>(std::vector<Pid>{1}), {});
    return 7;
  } catch (const Error& error) {
    return error.error_number() == EACCES || error.error_number() == EPERM ? 0 : 8;
  }
}

// Opens sessions until the kernel refuses. The error's hint must then contain `hint`.
int open_until_refused(std::size_t at_least, const char* hint) {
  Child child([] { spin_for(10 * kSecond); });
  std::vector<std::unique_ptr<Session>> sessions;
  try {
    while (sessions.size() < 100'000) {
      sessions.push_back(
          std::make_unique<Session>(child.pid(), SessionOptions{.scheduler = false}));
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%zu sessions, then: %s\n", sessions.size(), error.what());
    if (error.hint().find(hint) == std::string::npos) return 3;
    return sessions.size() < at_least ? 4 : 0;
  }
  return 5;
}

int lock_too_much_as_nobody() {
  const rlimit none{0, 0};
  if (!become_nobody() || setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 1;
  return open_until_refused(2, "perf_event_mlock_kb");
}

// Samples forty threads with their stacks, for whose usual rings there is no room.
int sample_many_threads_as_nobody() {
  const rlimit usual{8 << 20, 8 << 20};
  if (!become_nobody() || setrlimit(RLIMIT_MEMLOCK, &usual) != 0) return 1;
  constexpr std::size_t kThreads = 40;
  Child child([] {
    const auto work = [] {
      for (;;) {
        spin_for(3 * kMillisecond);
        usleep(1000);
      }
    };
    for (std::size_t i = 1; i < kThreads; ++i) std::thread(work).detach();
    work();
  });
  child.go();
  while (procfs::threads(child.pid()).size() < kThreads) usleep(1000);
  Session session(child.pid(), {.stack_bytes = 32 * 1024, .leaving = true});
  session.start();
  std::set<ThreadId> sampled;
  std::vector<Event> events;
  const bool all = drain_until(session, events, [&](const auto&) {
    for (const SampleEvent& sample : only<SampleEvent>(std::exchange(events, {}))) {
      if (!sample.user.stack.empty()) sampled.insert(sample.thread);
    }
    return sampled.size() == kThreads;
  });
  const auto& reasons = session.limits().reasons;
  const bool told = std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
    return reason.find("copies of stacks are smaller") != reason.npos;
  });
  if (!all) return 2;
  return told ? 0 : 3;
}

int open_too_many() {
  const rlimit few{50, 100};  // soft and hard limit: the soft one can be raised
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
  return open_until_refused(20, "ulimit -n");  // more than 50 descriptors can be open
}

// Enters a mount namespace of its own, which has no tracefs.
bool without_tracefs() {
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (const char* place : {"/sys/kernel/tracing", "/sys/kernel/debug"}) {
    while (umount2(place, MNT_DETACH) == 0) {
    }
  }
  return tracefs_in_mounts(procfs::read_text("/proc/self/mounts").value_or("")).empty();
}

int mount_tracefs_unseen() {
  if (!without_tracefs()) return 1;
  std::string problem;
  const auto ours = find_tracefs(problem);
  if (!ours || !ours->is_ours) return 2;
  if (!procfs::read_text(ours->path + "/events/sched/sched_waking/format")) return 3;
  if (!tracefs_in_mounts(procfs::read_text("/proc/self/mounts").value_or("")).empty()) return 4;
  if (open((ours->path + "/events/enable").c_str(), O_WRONLY) >= 0 || errno != EROFS) return 5;
  {
    Child child([] {});  // root kills it at the end
    if (!Session(child.pid(), {}).limits().wake_edges) return 6;
  }
  if (!become_nobody()) return 7;
  if (find_tracefs(problem)) return 8;
  return problem.find("is not mounted") == std::string::npos ? 9 : 0;
}

// In a pid namespace of our own the tracepoint's numbers of threads differ from those in records.
int wakes_in_a_container() {
  if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return 1;
  const pid_t pid = fork();
  if (pid > 0) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(3);
  if (mount("proc", "/proc", "proc", 0, nullptr) != 0) _exit(4);
  Child child([] {
    int pipes[2][2];
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0) _exit(1);
    const auto play = [&](int me) {
      char ball = 0;
      while (read(pipes[me][0], &ball, 1) == 1) {
        spin_for(100 * kMicrosecond);
        if (write(pipes[1 - me][1], &ball, 1) != 1) _exit(1);
      }
    };
    std::thread other(play, 1);
    if (write(pipes[0][1], "", 1) != 1) _exit(1);
    play(0);
  });
  Session session(child.pid(), {});
  if (!session.limits().wake_edges) _exit(5);
  session.start();
  child.go();
  std::vector<Event> events;
  const bool both = drain_until(session, events, [&](const auto& all) {
    int to_first = 0, to_second = 0;
    for (const auto& wake : only<WakeEvent>(all)) {
      if (wake.waker.tid != child.pid()) to_first += wake.woken == child.pid();
      if (wake.waker.tid == child.pid()) to_second += wake.woken == child.pid() + 1;
    }
    return to_first > 10 && to_second > 10;
  });
  _exit(both ? 0 : 6);
}

// Runs `body` in a separate process, because it changes what must stay for the other tests.
int in_a_fork(int (*body)()) {
  const pid_t pid = fork();
  if (pid == 0) {
    int result = 98;
    try {
      result = body();
    } catch (const std::exception& error) {
      std::fputs(error.what(), stderr);
    }
    _exit(result);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("Without privileges everything but kernel samples and wake edges works", "[perf]") {
  if (!perf_is_allowed()) return;
  if (geteuid() != 0) {
    WARN("not root: cannot become nobody, nothing tested");
    return;
  }
  if (system_facts().paranoid != 2) {
    WARN("perf_event_paranoid is " << system_facts().paranoid << ", this test is about 2");
    return;
  }
  REQUIRE(in_a_fork(profile_as_nobody) == 0);
  REQUIRE(in_a_fork(profile_a_set_as_nobody) == 0);
  REQUIRE(in_a_fork(lock_too_much_as_nobody) == 0);
  REQUIRE(in_a_fork(sample_many_threads_as_nobody) == 0);
}

TEST_CASE("The limit of descriptors is raised, and when that is not enough, explained", "[perf]") {
  if (!perf_is_allowed()) return;
  REQUIRE(in_a_fork(open_too_many) == 0);
}

TEST_CASE("tracefs that nobody has mounted is read all the same, and seen by nobody", "[perf]") {
  if (!perf_is_allowed()) return;
  if (geteuid() != 0) {
    WARN("not root: cannot mount, nothing tested");
    return;
  }
  REQUIRE(in_a_fork(mount_tracefs_unseen) == 0);
}

TEST_CASE("Wake edges name threads as our pid namespace does", "[perf]") {
  if (!perf_is_allowed()) return;
  if (geteuid() != 0) {
    WARN("not root: cannot make a pid namespace, nothing tested");
    return;
  }
  REQUIRE(in_a_fork(wakes_in_a_container) == 0);
}

TEST_CASE("The pause event's attributes are accepted, or the hint says what is missing", "[perf]") {
  if (!perf_is_allowed()) return;
  try {
    const auto event = EventFd::open(sigtrap_attr(0x1000, 20 * kMicrosecond), 0, "pause");
    REQUIRE(event);
    REQUIRE(event->read_count() == 0);  // it is still disabled
  } catch (const Error& error) {
    REQUIRE_THAT(error.hint(), Catch::Matchers::Contains("5.13"));
  }
}

namespace {

// Enough to fill a ring of 512 KiB eight times, and the buffer of the one or two cores on which
// they are made.
constexpr int kSleeps = 40'000;

std::uint64_t sleeps_of(Pid pid) {
  const auto text = procfs::read_text("/proc/" + std::to_string(pid) + "/status").value_or("");
  return compare::status_number(text, "voluntary_ctxt_switches");
}

}  // namespace

TEST_CASE("Records that found no room are counted, and the session goes on", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    for (int i = 0; i < 20000; ++i) syscall(SYS_sched_yield);
    for (int i = 0; i < 2 * kSleeps; ++i) sleep_until(monotonic_now() + 1);
    for (;;) sleep_until(monotonic_now() + 5 * kMillisecond);
  });
  Session session(child.pid(), either_way());
  session.start();
  child.go();
  // The rings are read only after far more has happened than they have room for; a sleep takes 100
  // bytes.
  const auto deadline = monotonic_now() + 30 * kSecond;
  while (sleeps_of(child.pid()) < kSleeps && monotonic_now() < deadline) {
    sleep_until(monotonic_now() + 20 * kMillisecond);
  }
  std::vector<Event> events;
  REQUIRE(
      drain_until(session, events, [&](const auto&) { return session.losses().records_lost > 0; }));
  events.clear();
  REQUIRE(drain_until(session, events,
                      [](const auto& all) { return only<SwitchEvent>(all).size() > 10; }));
  REQUIRE(session.target_alive());
}

}  // namespace causalctl::perf::test
