// Tests the guardian as a process: what it refuses, starts and stops, and that it cleans up when
// the controller is killed.
#include "controller/tracee/guardian/guardian.h"

#include <elf.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <thread>

#include "controller/base/procfs.h"
#include "controller/tracee/process.h"
#include "tests/kernel/tracee/target_process.h"
#include "tests/support/skip.h"

namespace causalctl::tracee {
namespace {

using Catch::Matchers::Contains;
using test::eventually;
using test::program;
using test::TargetProcess;

constexpr Pid kNobody = 0x3ffffff;  // above any pid_max

bool clean(Pid pid) {
  const auto status = procfs::status(pid);
  const auto maps = procfs::maps(pid);
  if (!status || !maps) return false;
  // The program generates no code, so our mapping is the only one that is anonymous and executable.
  const bool stub = std::any_of(maps->begin(), maps->end(), [](const procfs::Map& map) {
    return map.executable && map.path.empty();
  });
  return !stub && status->tracer_pid == 0 && !procfs::has_signal(status->signals_caught, SIGTRAP);
}

// Returns the message of the Error that adopt() throws, with its exit code.
std::pair<std::string, ExitCode> refusal(Pid pid) {
  Guardian guardian;
  try {
    guardian.adopt(pid);
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {"adopted", ExitCode::ok};
}

struct GuardedChild {  // killed and reaped at the end of the test
  Pid pid;
  void end() {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }
  ~GuardedChild() { end(); }
};

// Returns true if this process has no child but `target`. Orphans become our children (subreaper)
// and are reaped.
bool no_child_but(Pid target) {
  std::istringstream children(
      procfs::read_text("/proc/thread-self/children").value_or("cannot be read"));
  bool none = true;
  for (Pid pid = 0; children >> pid;) {
    if (pid != target && waitpid(pid, nullptr, WNOHANG) != pid) none = false;
  }
  return none && children.eof();
}

// True if a thread of the process waits in this system call.
bool waits_in(Pid pid, int call) {
  const auto tids = procfs::threads(pid);
  return std::any_of(tids.begin(), tids.end(), [&](Tid tid) {
    const auto text = procfs::read_text("/proc/" + std::to_string(pid) + "/task/" +
                                        std::to_string(tid) + "/syscall");
    return text && text->starts_with(std::to_string(call) + " ");
  });
}

// Makes a program for a 32-bit processor that loops for ever.
std::string write_32_bit_program() {
  struct {
    Elf32_Ehdr header{};
    Elf32_Phdr segment{};
    unsigned char code[2] = {0xeb, 0xfe};  // jmp to itself
  } file;
  constexpr Elf32_Addr base = 0x10000;
  std::copy_n(ELFMAG, SELFMAG, file.header.e_ident);
  file.header.e_ident[EI_CLASS] = ELFCLASS32;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_EXEC;
  file.header.e_machine = EM_386;
  file.header.e_version = EV_CURRENT;
  file.header.e_entry = base + offsetof(decltype(file), code);
  file.header.e_phoff = offsetof(decltype(file), segment);
  file.header.e_ehsize = sizeof file.header;
  file.header.e_phentsize = sizeof file.segment;
  file.header.e_phnum = 1;
  file.segment = {PT_LOAD, 0, base, base, sizeof file, sizeof file, PF_R | PF_X, 0x1000};
  const auto path =
      std::filesystem::temp_directory_path() / ("causalctl-test-32-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&file), sizeof file);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace

TEST_CASE("what cannot be a target is refused with its reason", "[tracee]") {
  SECTION("no such process") {
    const auto [what, code] = refusal(kNobody);
    CHECK_THAT(what, Contains("no such process: " + std::to_string(kNobody)));
    CHECK(code == ExitCode::target_gone);
  }
  SECTION("a thread") {
    TargetProcess target({program("target_waits"), "crowd", "1"});
    const auto [what, code] = refusal(procfs::threads(target.pid()).back());
    CHECK_THAT(what, Contains("is a thread of process " + std::to_string(target.pid())));
    CHECK(code == ExitCode::usage);
  }
  SECTION("itself") { CHECK_THAT(refusal(getpid()).first, Contains("is causalctl itself")); }
  SECTION("a kernel thread") { CHECK_THAT(refusal(2).first, Contains("is a kernel thread")); }
  SECTION("a zombie") {
    const GuardedChild child{fork()};
    if (child.pid == 0) _exit(0);
    REQUIRE(eventually(kSecond, [&] { return procfs::status(child.pid)->state == 'Z'; }));
    CHECK_THAT(refusal(child.pid).first, Contains("is a zombie"));
  }
  SECTION("traced by another") {
    const GuardedChild child{fork()};
    if (child.pid == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      for (;;) pause();
    }
    REQUIRE(eventually(kSecond, [&] { return procfs::status(child.pid)->tracer_pid != 0; }));
    CHECK_THAT(refusal(child.pid).first,
               Contains("already traced by process") && Contains(std::to_string(getpid())));
  }
  SECTION("a 32-bit program") {
    const auto path = write_32_bit_program();
    const GuardedChild child{fork()};
    if (child.pid == 0) {
      execl(path.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    const bool runs = eventually(kSecond, [&] {
      const auto status = procfs::status(child.pid);
      return procfs::executable(child.pid) == path || status->state == 'Z';
    });
    REQUIRE(runs);
    if (procfs::status(child.pid)->state == 'Z') {
      WARN("this kernel runs no 32-bit programs");
    } else {
      CHECK_THAT(refusal(child.pid).first, Contains("is a 32-bit program"));
    }
    std::filesystem::remove(path);
  }
  SECTION("not ours") {
    TargetProcess target({program("target_waits"), "crowd", "1"});
    if (geteuid() != 0) {
      WARN("needs root, to give up its rights");
      return;
    }
    const GuardedChild child{fork()};
    if (child.pid == 0) {
      const bool right = setuid(65534) == 0 && [&] {
        Guardian guardian;
        try {
          guardian.adopt(target.pid());
        } catch (const Error& error) {
          return error.error_number() == EPERM &&
                 error.hint().find("belongs to uid 0") != std::string::npos;
        }
        return false;
      }();
      _exit(right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(eventually(5 * kSecond, [&] { return waitpid(child.pid, &status, WNOHANG) != 0; }));
    CHECK(status == 0);
  }
}

TEST_CASE("a killed controller leaves the target clean", "[tracee]") {
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1L) == 0);
  TargetProcess target({program("target_waits"), "busy", "3"});
  // Moments from the fork of the guardian over the whole of adopt, inject, pause and restore.
  const Nanoseconds delay_ns = GENERATE(0, 2, 5, 9, 14, 20, 40) * kMillisecond;
  CAPTURE(delay_ns);
  GuardedChild controller{fork()};
  if (controller.pid == 0) {
    Guardian guardian;
    guardian.adopt(target.pid());
    for (;;) {
      guardian.inject(64);
      for (const Tid tid : procfs::threads(target.pid())) guardian.pause(tid, 20 * kMillisecond);
      sleep_until(monotonic_now() + 5 * kMillisecond);
      guardian.restore();
    }
  }
  sleep_until(monotonic_now() + delay_ns);
  controller.end();
  const Nanoseconds killed_ns = monotonic_now();
  // It stays clean, because the guardian has ended.
  CHECK(eventually(3 * kSecond, [&] { return no_child_but(target.pid()); }));
  CHECK(clean(target.pid()));
  WARN("clean " << (monotonic_now() - killed_ns) / kMillisecond << " ms after the kill");
  CHECK_FALSE(target.ended());
  CHECK(procfs::status(target.pid())->state != 'T');
}

TEST_CASE("what is left of a controller whose first thread has ended is boosted to its end",
          "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "1"});
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const bool first_ends = GENERATE(true, false);
  CAPTURE(first_ends);
  GuardedChild controller{fork()};
  if (controller.pid == 0) {
    Guardian guardian;
    guardian.adopt(target.pid());  // makes sure that it is ready
    std::thread other([&] {
      const Tid tid = gettid();
      (void)!write(ends[1], &tid, sizeof tid);
      for (;;) pause();
    });
    if (first_ends) syscall(SYS_exit, 0);  // ends this thread only
    kill(guardian.helper(), SIGUSR1);      // which the kernel would send
    for (;;) pause();
  }
  Tid other = 0;
  REQUIRE(read(ends[0], &other, sizeof other) == sizeof other);
  close(ends[0]);
  close(ends[1]);
  const auto boosted = [&] { return sched_getscheduler(other) != SCHED_OTHER; };
  if (first_ends) {
    CHECK(eventually(3 * kSecond, boosted));
  } else {
    sleep_until(monotonic_now() + 100 * kMillisecond);
    CHECK_FALSE(boosted());
  }
}

TEST_CASE("the guardian is an ordinary process until it knows its target", "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "1"});
  Guardian guardian;
  const auto policy = [&] { return sched_getscheduler(guardian.helper()) & ~SCHED_RESET_ON_FORK; };
  sleep_until(monotonic_now() + 100 * kMillisecond);  // by then it waits for a request
  CHECK(policy() == SCHED_OTHER);
  guardian.adopt(target.pid());
  const sched_param lowest{sched_get_priority_min(SCHED_FIFO)};
  const sched_param none{0};
  const bool may = sched_setscheduler(0, SCHED_FIFO, &lowest) == 0 &&
                   sched_setscheduler(0, SCHED_OTHER, &none) == 0;
  if (!may) return causalctl::test::skip_test_case("no thread of ours may have SCHED_FIFO");
  CHECK(policy() == SCHED_FIFO);
}

TEST_CASE("a killed controller lets a launched program run", "[tracee]") {
  const std::string mark = "causalctl-test-" + std::to_string(getpid());
  const auto path = std::filesystem::temp_directory_path() / mark;
  GuardedChild controller{fork()};
  if (controller.pid == 0) {
    Guardian guardian;
    guardian.launch({{"touch", path.string()}, {}, {}});
    guardian.inject(4);
    kill(getpid(), SIGKILL);
  }
  CHECK(eventually(5 * kSecond, [&] { return std::filesystem::exists(path); }));
  std::filesystem::remove(path);
}

TEST_CASE("a program is launched, injected into before its first instruction, and runs",
          "[tracee]") {
  Guardian guardian;
  const Pid pid =
      guardian.launch({{"sh", "-c", "test \"$CAUSALCTL_TEST\" = yes && test $(pwd) = / && exit 7"},
                       {{"CAUSALCTL_TEST", "yes"}},
                       "/"});
  CHECK(procfs::status(pid)->state == 't');
  CHECK_FALSE(guardian.exit_status().has_value());
  SECTION("as it is") {}
  SECTION("with the stub") {
    const auto injection = guardian.inject(16);
    CHECK(injection.code != 0);
    CHECK(procfs::has_signal(procfs::status(pid)->signals_caught, SIGTRAP));
    CHECK(procfs::status(pid)->state == 't');
  }
  SECTION("with the stub in and out again") {
    guardian.inject(16);
    CHECK(guardian.restore() == std::vector<std::string>{});
    CHECK_FALSE(procfs::has_signal(procfs::status(pid)->signals_caught, SIGTRAP));
    CHECK(procfs::status(pid)->state == 't');
  }
  guardian.release();
  REQUIRE(eventually(5 * kSecond, [&] { return guardian.exit_status().has_value(); }));
  REQUIRE(WIFEXITED(*guardian.exit_status()));
  CHECK(WEXITSTATUS(*guardian.exit_status()) == 7);
  CHECK(guardian.restore() == std::vector<std::string>{});
}

TEST_CASE("what cannot be launched is said", "[tracee]") {
  Guardian guardian;
  CHECK_THROWS_WITH(guardian.launch({{"/nonexistent/program"}, {}, {}}),
                    Contains("cannot run '/nonexistent/program': No such file"));
  CHECK_THROWS_WITH(guardian.launch({{"/etc/passwd"}, {}, {}}),
                    Contains("cannot run '/etc/passwd': Permission denied"));
  CHECK_THROWS_WITH(guardian.launch({{"true"}, {}, "/nonexistent"}),
                    Contains("cannot run in directory '/nonexistent'"));
  CHECK_THROWS_AS(guardian.launch({{}, {}, {}}), UsageError);
  // Afterwards the guardian works as before.
  const Pid pid = guardian.launch({{"true"}, {}, {}});
  CHECK(pid > 0);
  guardian.release();
  REQUIRE(eventually(5 * kSecond, [&] { return guardian.exit_status().has_value(); }));
  CHECK(*guardian.exit_status() == 0);
}

TEST_CASE("threads in user mode are stopped, all at once", "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "3"});
  Guardian guardian;
  guardian.adopt(target.pid());
  auto tids = procfs::threads(target.pid());
  const Tid blocked = tids.front();  // the main thread, which will wait in futex
  REQUIRE(eventually(30 * kSecond, [&] { return procfs::status(blocked)->state == 'S'; }));
  constexpr Nanoseconds asked_ns = 30 * kMillisecond;
  for (const Tid tid : tids) guardian.pause(tid, asked_ns);
  guardian.pause(kNobody, asked_ns);
  std::vector<StopPause> pauses;
  REQUIRE(eventually(3 * kSecond, [&] {
    const auto fresh = guardian.finished_pauses();
    pauses.insert(pauses.end(), fresh.begin(), fresh.end());
    return pauses.size() == tids.size() + 1;
  }));
  for (const auto& pause : pauses) {
    CAPTURE(pause.tid, pause.end_ns - pause.start_ns);
    const bool busy = pause.tid != blocked && pause.tid != kNobody;
    if (busy) CHECK(pause.end_ns - pause.start_ns >= asked_ns);
    if (!busy) CHECK(pause.end_ns == pause.start_ns);
  }
  CHECK(procfs::status(target.pid())->tracer_pid == 0);
  CHECK_FALSE(target.ended());
}

TEST_CASE("only SIGKILL ends the guardian", "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "1"});
  Guardian guardian;
  guardian.adopt(target.pid());
  const auto children =
      procfs::read_text("/proc/self/task/" + std::to_string(gettid()) + "/children");
  std::istringstream words(children.value());
  Pid helper = 0;
  for (Pid child = 0; words >> child;) helper = child != target.pid() ? child : helper;
  REQUIRE(helper != 0);
  for (const int signal : {SIGTERM, SIGXCPU, SIGVTALRM, SIGRTMIN, SIGRTMAX}) {
    REQUIRE(kill(helper, signal) == 0);
  }
  sleep_until(monotonic_now() + 50 * kMillisecond);
  CHECK_FALSE(guardian.was_killed());
}

TEST_CASE("what a guardian that is killed while it restores leaves is undone by another one",
          "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "2"});
  const bool can_fork = GENERATE(true, false);
  CAPTURE(can_fork);
  {
    Guardian guardian;
    guardian.adopt(target.pid());
    guardian.inject(16);
    // It is stopped, so that it dies with the request before it, and does not harm the target.
    const Pid helper = guardian.helper();
    REQUIRE(kill(helper, SIGSTOP) == 0);
    auto restoring = std::async(std::launch::async, [&] { return guardian.restore(); });
    const auto waits = [&] { return waits_in(getpid(), SYS_recvfrom); };
    REQUIRE(eventually(5 * kSecond, waits));
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit none{1, before.rlim_max};                         // poll(2) takes one
    if (!can_fork) REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);  // no socket pair
    kill(helper, SIGKILL);
    const bool ended = restoring.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(ended);
    const std::vector<std::string> problems = restoring.get();
    CHECK(guardian.was_killed());
    if (can_fork) {
      CHECK(problems == std::vector<std::string>{});
      CHECK(clean(target.pid()));
    } else {
      REQUIRE(problems.size() == 1);
      CHECK_THAT(problems[0], Contains("process " + std::to_string(target.pid())) &&
                                  Contains("cannot start the guardian process"));
    }
  }
  CHECK(clean(target.pid()));
  CHECK_FALSE(target.ended());
}

TEST_CASE("a thread that is not the target's is not stopped", "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "1"});
  TargetProcess other({program("target_waits"), "busy", "1"});
  Guardian guardian;
  guardian.adopt(target.pid());
  const Tid tid = procfs::threads(other.pid()).back();
  guardian.pause(tid, 50 * kMillisecond);
  std::vector<StopPause> pauses;
  REQUIRE(eventually(3 * kSecond, [&] {
    pauses = guardian.finished_pauses();
    return !pauses.empty();
  }));
  CHECK(pauses[0].end_ns == pauses[0].start_ns);
}

TEST_CASE("a launched program that was not released never runs", "[tracee]") {
  const auto path =
      std::filesystem::temp_directory_path() / ("causalctl-test-" + std::to_string(getpid()));
  {
    Guardian guardian;
    guardian.launch({{"touch", path.string()}, {}, {}});
    guardian.inject(4);
  }
  sleep_until(monotonic_now() + 50 * kMillisecond);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("pauses do not disturb blocking calls", "[tracee]") {
  const auto kind =
      GENERATE(as<std::string>{}, "futex", "nanosleep", "poll", "epoll", "sigtimedwait", "read");
  CAPTURE(kind);
  TargetProcess target({program("target_waits"), kind, "10"});
  Guardian guardian;
  guardian.adopt(target.pid());
  while (!target.ended()) {
    guardian.pause(target.pid(), kMillisecond);
    sleep_until(monotonic_now() + 70 * kMillisecond);
  }
  CHECK(target.wait() == 0);
  CHECK(target.output() == "disturbed 0\n");
}

TEST_CASE("a signal that comes during a pause is not lost", "[tracee]") {
  TargetProcess target({program("target_waits"), "busy", "1"});
  Guardian guardian;
  guardian.adopt(target.pid());
  const Tid tid = procfs::threads(target.pid()).back();
  guardian.pause(tid, 200 * kMillisecond);
  REQUIRE(
      eventually(kSecond, [&] { return procfs::thread_status(target.pid(), tid)->state == 't'; }));
  SECTION("one that kills") {
    REQUIRE(kill(target.pid(), SIGTERM) == 0);
    CHECK(WTERMSIG(target.wait()) == SIGTERM);
  }
  SECTION("one that stops") {
    REQUIRE(kill(target.pid(), SIGSTOP) == 0);
    CHECK(eventually(2 * kSecond,
                     [&] { return procfs::thread_status(target.pid(), tid)->state == 'T'; }));
  }
  CHECK(eventually(kSecond, [&] { return guardian.finished_pauses().size() == 1; }));
}

}  // namespace causalctl::tracee
