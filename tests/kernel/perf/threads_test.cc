// Tests threads that come and go, and the end of the target.
#include <dirent.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/perf/trials.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/skip.h"

namespace causalctl::perf::test {

namespace {

int open_descriptors() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  REQUIRE(directory != nullptr);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

}  // namespace

TEST_CASE("Threads there at the attach and those started later are all sampled", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    static std::atomic<bool> stopping = false;
    const auto spin = [] {
      while (!stopping) spin_for(kMillisecond);
    };
    for (int i = 0; i < 3; ++i) std::thread(spin).detach();
    await_go();  // the session is open
    spin_for(20 * kMillisecond);
    std::thread later(spin);
    await_go();
    stopping = true;
    later.join();
    syscall(SYS_exit, 0);  // the main thread may end before the others
  });
  child.go();
  while (cpu_time_of(child.pid()) < 5 * kMillisecond) sleep_until(monotonic_now() + kMillisecond);
  Session session(child.pid(), either_way({.period_ns = 500 * kMicrosecond}));
  session.start();
  child.go();
  std::vector<Event> events;
  const auto sampled_threads = [&] {
    std::set<ThreadId> threads;
    for (const auto& sample : only<SampleEvent>(events)) threads.insert(sample.thread);
    return threads;
  };
  REQUIRE(drain_until(session, events, [&](const auto&) { return sampled_threads().size() == 5; }));
  child.go();
  REQUIRE(drain_until(session, events, [&](const auto&) { return !session.target_alive(); }));
  const std::set<ThreadId> sampled = sampled_threads();
  std::set<ThreadId> started, exited;
  for (const auto& start : only<ThreadStartEvent>(events)) started.insert(start.thread);
  for (const auto& exit : only<ThreadExitEvent>(events)) exited.insert(exit.thread);
  REQUIRE(started.size() == 5);
  REQUIRE(sampled == started);
  REQUIRE(exited == started);
  REQUIRE(only<ThreadExitEvent>(events).size() == 5);
  REQUIRE(session.threads().empty());
  REQUIRE(session.losses().threads_missed == 0);
}

TEST_CASE("A thread that is blocked when it is found is said to be", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] { spin_for(kSecond); });
  const auto found_blocked = [&] {  // at its start it waits for go()
    Session session(child.pid(), either_way());
    session.start();
    std::vector<Event> events;
    REQUIRE(drain_until(session, events,
                        [](const auto& all) { return !only<ThreadStartEvent>(all).empty(); }));
    return only<ThreadStartEvent>(events).front().blocked;
  };
  const auto state = [&] { return procfs::status(child.pid()).value().state; };
  for (int i = 0; i < 10'000 && state() != 'S'; ++i) sleep_until(monotonic_now() + kMillisecond);
  CHECK(found_blocked());
  child.go();
  while (cpu_time_of(child.pid()) < 5 * kMillisecond) sleep_until(monotonic_now() + kMillisecond);
  CHECK_FALSE(found_blocked());
}

TEST_CASE("A storm of threads leaks nothing and loses no thread unreported", "[perf]") {
  if (!perf_is_allowed()) return;
  constexpr int kThreads = 1000;
  (void)try_wake_up();  // which leaves an event open
  const int descriptors = open_descriptors();
  {
    auto* const drains = static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>),
                                                             PROT_READ | PROT_WRITE,
                                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(drains != MAP_FAILED);
    const Pid tester = getpid();
    Child child([=] {
      const auto race = [] { spin_for(kMillisecond); };
      const auto be_seen = [=] {
        // The drain under way may have read /proc already, but the next one has not.
        const int before = *drains;
        while (*drains < before + 2 && getppid() == tester) spin_for(100 * kMicrosecond);
      };
      for (int i = 0; i < kThreads; i += 2) {
        std::thread(race).join();
        std::thread(be_seen).join();
      }
    });
    Session session(child.pid(), either_way());
    session.start();
    child.go();
    std::vector<Event> events;
    const auto over = [&](const auto&) {
      ++*drains;
      return !session.target_alive();
    };
    REQUIRE(drain_until(session, events, over, 30 * kSecond));
    munmap(drains, sizeof *drains);
    const auto starts = only<ThreadStartEvent>(events);
    REQUIRE(starts.size() - 1 + session.losses().threads_missed == kThreads);
    REQUIRE(starts.size() - 1 >= kThreads / 2);
    REQUIRE(only<ThreadExitEvent>(events).size() == starts.size());
    std::set<std::uint32_t> serials;
    for (const auto& start : starts) serials.insert(start.thread.serial);
    REQUIRE(serials.size() == starts.size());
    REQUIRE(session.losses().records_lost == 0);
  }
  REQUIRE(open_descriptors() == descriptors);
}

// They may have ended before their birth is read. Only the clocks of cores have sampled them then.
TEST_CASE("Threads of 3 ms are seen whole by the events of cores", "[perf]") {
  if (!perf_is_allowed()) return;
  constexpr int kThreads = 100;
  constexpr Nanoseconds kWork = 3 * kMillisecond;
  Child child([] {
    for (int i = 0; i < kThreads; ++i) {
      std::thread([] { spin_for(kWork); }).join();
    }
    await_go();  // its time can be read until then
  });
  const Clocks clocks = GENERATE(Clocks::threads, Clocks::cores);
  Session session(child.pid(), {.period_ns = 500 * kMicrosecond, .clocks = clocks});
  const bool by_core = clocks == Clocks::cores;
  if (session.by_core() != by_core || !session.scheduler_trial() ||
      !session.scheduler_trial()->is_seen()) {
    return causalctl::test::skip_test_case("cores or the scheduler cannot be followed here");
  }
  session.start();
  const Nanoseconds before_ns = cpu_time_of(child.pid());
  child.go();
  std::vector<Event> events;
  const auto all_ended = [](const std::vector<Event>& all) {
    return only<ThreadExitEvent>(all).size() == kThreads;
  };
  REQUIRE(drain_until(session, events, all_ended));
  const Nanoseconds ran_ns = cpu_time_of(child.pid()) - before_ns;
  CHECK(only<ThreadStartEvent>(events).size() == kThreads + 1);
  CHECK(session.losses().threads_missed == 0);
  CHECK((session.losses().unseen_ns == 0) == by_core);
  CHECK(session.losses().records_lost == 0);

  std::map<ThreadId, Nanoseconds> since;
  Nanoseconds on_core_ns = 0, sampled_ns = 0;
  const auto leaves = [&](ThreadId thread, Nanoseconds time_ns) {
    const auto came = since.extract(thread);
    if (came && thread.tid != child.pid()) on_core_ns += time_ns - came.mapped();
  };
  for (const Event& event : events) {
    if (const auto* change = std::get_if<SwitchEvent>(&event)) {
      if (change->kind != SwitchKind::in) leaves(change->thread, change->time_ns);
      if (change->kind == SwitchKind::in) since.emplace(change->thread, change->time_ns);
    } else if (const auto* end = std::get_if<ThreadExitEvent>(&event)) {
      leaves(end->thread, end->time_ns);
    } else if (const auto* sample = std::get_if<SampleEvent>(&event)) {
      sampled_ns += sample->period_ns;
    }
  }
  CAPTURE(ran_ns, on_core_ns, sampled_ns);
  // Of what the threads did by themselves. The kernel also counts what it does after it has told of
  // their end.
  CHECK(static_cast<double>(on_core_ns) > 0.99 * static_cast<double>(kThreads * kWork));
  if (!by_core) return;
  // Ticks that come late when the machine stalls are one sample.
  CHECK(static_cast<double>(sampled_ns) > 0.7 * static_cast<double>(ran_ns));
  CHECK(static_cast<double>(sampled_ns) < 1.3 * static_cast<double>(ran_ns));
}

TEST_CASE("A child process is none of the target's threads", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    const pid_t pid = fork();
    if (pid == 0) {
      spin_for(20 * kMillisecond);
      _exit(0);
    }
    waitpid(pid, nullptr, 0);
  });
  Session session(child.pid(), either_way());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events, [&](const auto&) { return !session.target_alive(); }));
  REQUIRE(only<ThreadStartEvent>(events).size() == 1);
  REQUIRE(session.losses().threads_missed == 0);
}

// An io_uring poller is listed as a thread of the process, but no code of the program runs in it.
TEST_CASE("A worker of the kernel's is none of the target's threads", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_SQPOLL;
    parameters.sq_thread_idle = 10'000;
    if (syscall(SYS_io_uring_setup, 8, &parameters) < 0) _exit(1);
    spin_for(100 * kSecond);
  });
  const auto followed = [&](Session& session) {
    std::vector<Event> events;
    REQUIRE(drain_until(session, events, [&](const auto&) {
      return procfs::threads(child.pid()).size() == 2 &&
             cpu_time_of(child.pid()) > 50 * kMillisecond;
    }));
    CHECK(session.losses().threads_missed == 0);
    CHECK(session.limits().reasons.empty());
    return only<ThreadStartEvent>(events).size();
  };
  {
    Session told(child.pid(), {});  // learns of it by a record of its birth
    told.start();
    child.go();
    CHECK(followed(told) == 1);
  }
  Session found(child.pid(), {});  // finds it in /proc
  found.start();
  CHECK(followed(found) == 1);
}

TEST_CASE("An exec by a second thread makes it the first", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    std::thread other([] {
      await_go();  // until it is followed
      execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done", nullptr);
      _exit(1);
    });
    other.join();
  });
  Session session(child.pid(), either_way());
  session.start();
  std::vector<Event> events;
  go_until_both_followed(child, session, events);
  REQUIRE(drain_until(session, events, [&](const auto&) { return !session.target_alive(); }));
  const auto execs = only<ExecEvent>(events);
  REQUIRE(execs.size() == 1);
  const auto starts = only<ThreadStartEvent>(events);
  REQUIRE(starts.size() == 3);
  REQUIRE(starts[2].thread == execs[0].thread);
  REQUIRE(execs[0].thread.tid == child.pid());
  REQUIRE(only<ThreadExitEvent>(events).size() == 3);
  const auto samples = only<SampleEvent>(events);
  REQUIRE(std::any_of(samples.begin(), samples.end(),
                      [&](const auto& sample) { return sample.thread == execs[0].thread; }));
  const auto maps = only<MapEvent>(events);
  REQUIRE(std::any_of(maps.begin(), maps.end(), [](const MapEvent& map) {
    return map.path.find("libc") != std::string::npos && map.length > 0;
  }));
}

TEST_CASE("A killed target ends in one exit event a thread", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] { spin_for(100 * kSecond); });
  Session session(child.pid(), either_way());
  session.start();
  child.go();
  std::vector<Event> events;
  REQUIRE(drain_until(session, events,
                      [](const auto& all) { return !only<SampleEvent>(all).empty(); }));
  REQUIRE(session.target_alive());
  child.kill();
  REQUIRE(drain_until(session, events, [&](const auto&) { return !session.target_alive(); }));
  drain_until(session, events, [](const auto&) { return true; });
  REQUIRE(only<ThreadExitEvent>(events).size() == 1);
  session.jitter();  // has nothing to do, and must not fail
  session.set_stack_bytes(512);
  REQUIRE(session.drain(monotonic_now()).empty());
}

TEST_CASE("A process that is not there is gone, which is not an ordinary error", "[perf]") {
  Child child([] {});
  const Pid pid = child.pid();
  child.kill();
  REQUIRE_THROWS_AS(Session(pid, {}), TargetGone);
}

}  // namespace causalctl::perf::test
