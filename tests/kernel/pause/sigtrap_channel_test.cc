// Tests the sigtrap channel on a busy process, with the stub in it and without.
#include "controller/pause/sigtrap_channel.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/tracee/guardian/guardian.h"
#include "tests/kernel/pause/child_process.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::pause {
namespace {

using test::ChildProcess;
using test::kDebt;
using test::kPatience;
using test::kStanding;
using test::stand;
using test::stay_busy;
using test::wait_for_sigusr1;
using tracee::test::eventually;
using tracee::test::handles;

// A process that is busy in its only thread, so that its reset cannot coincide with a shot. It
// resets SIGTRAP a random time after start(), and then says so.
class ResettingProcess {
 public:
  explicit ResettingProcess(unsigned seed) {
    if (pipe(ends_) != 0 || (pid_ = fork()) < 0) throw Error("fork");
    if (pid_ == 0) run(seed);
    char ready = 0;
    if (read(ends_[0], &ready, 1) != 1) throw Error("the child has ended");
  }
  ~ResettingProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(ends_[0]);
    close(ends_[1]);
  }
  ResettingProcess(const ResettingProcess&) = delete;
  ResettingProcess& operator=(const ResettingProcess&) = delete;

  Pid pid() const { return pid_; }
  bool alive() {
    if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return !ended_;
  }
  int status() const { return status_; }
  void start() const { kill(pid_, SIGUSR1); }
  bool has_reset() const {
    pollfd end{ends_[0], POLLIN, 0};
    return poll(&end, 1, 0) > 0;
  }

 private:
  [[noreturn]] void run(unsigned seed) {
    static std::atomic<bool> started;
    std::signal(SIGUSR1, [](int) { started = true; });
    if (write(ends_[1], "", 1) != 1) _exit(1);
    while (!started) {
    }
    std::mt19937 random(seed);
    const Nanoseconds until_ns =
        monotonic_now() + std::uniform_int_distribution<Nanoseconds>(0, 10 * kMillisecond)(random);
    while (monotonic_now() < until_ns) {
    }
    std::signal(SIGTRAP, SIG_DFL);
    if (write(ends_[1], "", 1) != 1) _exit(1);
    stay_busy();
  }

  Pid pid_ = 0;
  bool ended_ = false;
  int status_ = 0;
  int ends_[2] = {-1, -1};
};

// After SIGUSR1 it blocks all signals and keeps working.
void block_signals() {
  wait_for_sigusr1();
  sigset_t all{};
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  stay_busy();
}

// It blocks all signals for most of the time.
void block_signals_again_and_again() {
  sigset_t all{};
  sigfillset(&all);
  const auto work = [&](int how, Nanoseconds time_ns) {
    sigprocmask(how, &all, nullptr);
    const Nanoseconds until_ns = monotonic_now() + time_ns;
    while (monotonic_now() < until_ns) {
    }
  };
  for (;;) {
    work(SIG_BLOCK, 70 * kMillisecond);  // long enough for its mask to be polled
    work(SIG_UNBLOCK, 10 * kMillisecond);
  }
}

// After SIGUSR1 it installs a filter that ends it at any system call that our stub or guardian
// makes in it.
void confine_itself() {
  wait_for_sigusr1();
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog program{std::size(code), code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(1);
  stay_busy();
}

// Has a child that waits to be killed.
void be_a_parent() {
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  stay_busy();
}

constexpr Nanoseconds kLongHandler = 400 * kMillisecond;

// After SIGUSR1 it installs a handler of SIGCHLD that takes long.
void handle_children_later() {
  wait_for_sigusr1();
  std::signal(SIGCHLD, [](int) {
    const Nanoseconds until_ns = monotonic_now() + kLongHandler;
    while (monotonic_now() < until_ns) {
    }
  });
  stay_busy();
}

}  // namespace

// [plain]: the sanitizers' runtime makes calls that the filter forbids.
TEST_CASE("a target that confines itself by seccomp is not shot, and rid of the stub",
          "[pause][plain]") {
  const ChildProcess target(confine_itself);
  const auto confined = [&] { return procfs::status(target.pid()).value().seccomp != 0; };
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(4);
  std::uint64_t pauses = 0;
  {
    SigtrapChannel channel(target.pid(), guardian, injection, {});
    channel.add_thread(target.pid());
    Nanoseconds deadline_ns = monotonic_now() + kPatience;
    const auto pause_until = [&](auto condition) {
      while (!condition() && target.alive() && monotonic_now() < deadline_ns) {
        if (!channel.pausing(target.pid())) {
          channel.set_debt(target.pid(), kMillisecond, monotonic_now());
        }
        sleep_until(monotonic_now() + kMillisecond);
        (void)channel.collect(monotonic_now());
      }
    };
    pause_until([&] { return channel.totals().pauses >= 3; });
    CHECK(channel.notices().empty());
    REQUIRE(kill(target.pid(), SIGUSR1) == 0);
    pause_until(confined);
    pauses = channel.totals().pauses;
    deadline_ns = monotonic_now() + kPatience;
    pause_until([&] { return channel.totals().pauses >= pauses + 3; });
    REQUIRE(target.alive());
    CHECK(channel.totals().pauses >= pauses + 3);
    REQUIRE(channel.notices().size() == 1);
    CHECK_THAT(channel.notices()[0], Catch::Matchers::Contains("put itself under seccomp"));
  }
  CHECK(guardian.restore().empty());
  REQUIRE(target.alive());
  const auto status = procfs::status(target.pid()).value();
  CHECK_FALSE(procfs::has_signal(status.signals_caught, SIGTRAP));
  const auto maps = procfs::maps(target.pid());
  REQUIRE(maps);
  CHECK(std::none_of(maps->begin(), maps->end(),
                     [&](const procfs::Map& map) { return map.start == injection.code; }));
}

// If nothing polled the disposition, the shot after the reset would end the target.
TEST_CASE("a target that resets SIGTRAP is not shot", "[pause]") {
  constexpr unsigned kRounds = 20;
  // Asks as often as a profile does: at every tick, with debts that are worth a pause.
  constexpr Nanoseconds kTick = 2 * kMillisecond;
  constexpr Nanoseconds kLittleDebt = kMillisecond;
  constexpr Nanoseconds kAfter = 40 * kMillisecond;
  std::uint64_t pauses = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    ResettingProcess target(round);
    tracee::Guardian guardian;
    guardian.adopt(target.pid());
    SigtrapChannel channel(target.pid(), guardian, guardian.inject(8), {});
    for (const Tid tid : procfs::threads(target.pid())) channel.add_thread(tid);
    target.start();
    const Nanoseconds patience_ns = monotonic_now() + kPatience;
    Nanoseconds end_ns = patience_ns;
    while (monotonic_now() < std::min(end_ns, patience_ns) && target.alive()) {
      for (const Tid tid : procfs::threads(target.pid())) {
        if (!channel.pausing(tid)) channel.set_debt(tid, kLittleDebt, monotonic_now());
      }
      sleep_until(monotonic_now() + kTick);
      (void)channel.collect(monotonic_now());
      if (end_ns == patience_ns && target.has_reset()) end_ns = monotonic_now() + kAfter;
    }
    CAPTURE(target.alive(), target.status());
    REQUIRE(target.alive());
    REQUIRE(target.has_reset());
    pauses += channel.totals().pauses;
  }
  CHECK(pauses > kRounds);
}

// The signal would stay pending until the target's next call that admits signals.
TEST_CASE("a thread that blocks SIGTRAP after a pause is not shot", "[pause]") {
  constexpr Nanoseconds kLong = 200 * kMillisecond;
  const ChildProcess target(block_signals);
  REQUIRE(eventually(kPatience, [&] { return handles(target.pid(), SIGUSR1); }));
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  SigtrapChannel channel(target.pid(), guardian, guardian.inject(4), {.longest_ns = kStanding});
  channel.add_thread(target.pid());
  REQUIRE(stand(channel, target.pid()));
  REQUIRE(kill(target.pid(), SIGUSR1) == 0);
  const auto status = [&] { return procfs::status(target.pid()).value(); };
  REQUIRE(eventually(kPatience, [&] {
    (void)channel.collect(monotonic_now());
    return procfs::has_signal(status().signals_blocked, SIGTRAP) && !channel.pausing(target.pid());
  }));
  const auto pauses_before = channel.totals().pauses;
  bool shot = false;
  const Nanoseconds start_ns = monotonic_now();
  const auto passed = [&](Nanoseconds time_ns) { return monotonic_now() - start_ns > time_ns; };
  const auto paused = [&] { return channel.totals().pauses > pauses_before; };
  while (!(passed(kLong) && paused()) && !passed(kPatience)) {
    if (!channel.pausing(target.pid())) channel.set_debt(target.pid(), kDebt, monotonic_now());
    sleep_until(monotonic_now() + kMillisecond);
    (void)channel.collect(monotonic_now());
    shot = shot || procfs::has_signal(status().signals_pending, SIGTRAP);
  }
  CHECK_FALSE(shot);
  CHECK(paused());  // by ptrace now
  CHECK(channel.notices().size() == 1);
}

// Each time it enters the stub it is cleared of that suspicion.
TEST_CASE("a thread that blocks SIGTRAP again and again is paused by the stub", "[pause]") {
  constexpr auto kEnough = 3 * std::uint64_t{Unreached::kBlockedPolls};
  constexpr Nanoseconds kTick = 2 * kMillisecond;
  const ChildProcess target(block_signals_again_and_again);
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  SigtrapChannel channel(target.pid(), guardian, guardian.inject(4), {.longest_ns = kStanding});
  channel.add_thread(target.pid());
  const Nanoseconds end_ns = monotonic_now() + 6 * kPatience;
  while (channel.totals().pauses < kEnough && monotonic_now() < end_ns) {
    if (!channel.pausing(target.pid())) {
      channel.set_debt(target.pid(), 2 * kTick, monotonic_now());
    }
    sleep_until(monotonic_now() + kTick);
    (void)channel.collect(monotonic_now());
  }
  CHECK(channel.totals().pauses >= kEnough);
  CHECK(channel.notices().empty());
}

// If the thread blocked the signal, the kernel would queue it and then interrupt another thread's
// call.
TEST_CASE("the end of a child is nothing to a thread that stands in a pause", "[pause]") {
  const ChildProcess target(be_a_parent);
  REQUIRE(eventually(kPatience, [&] { return !procfs::descendants(target.pid()).empty(); }));
  const Pid child = procfs::descendants(target.pid()).front();
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  SigtrapChannel channel(target.pid(), guardian, guardian.inject(4), {.longest_ns = kStanding});
  channel.add_thread(target.pid());
  REQUIRE(stand(channel, target.pid()));
  REQUIRE(kill(child, SIGKILL) == 0);
  REQUIRE(eventually(kPatience, [&] { return procfs::status(child).value().state == 'Z'; }));
  const auto status = procfs::status(target.pid()).value();
  (void)channel.collect(monotonic_now());
  REQUIRE(channel.standing(target.pid()));  // otherwise this shows nothing
  CHECK_FALSE(procfs::has_signal(status.signals_pending_shared, SIGCHLD));
  CHECK_FALSE(procfs::has_signal(status.signals_pending, SIGCHLD));
}

TEST_CASE("the stub stays as long as a handler runs that has interrupted it", "[pause]") {
  const ChildProcess target(handle_children_later);
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(4);
  REQUIRE(eventually(kPatience, [&] { return handles(target.pid(), SIGUSR1); }));
  REQUIRE(kill(target.pid(), SIGUSR1) == 0);
  REQUIRE(eventually(kPatience, [&] { return handles(target.pid(), SIGCHLD); }));
  Nanoseconds interrupted_ns = 0;
  {
    SigtrapChannel channel(target.pid(), guardian, injection, {.longest_ns = kStanding});
    channel.add_thread(target.pid());
    REQUIRE(stand(channel, target.pid()));
    interrupted_ns = monotonic_now();
    REQUIRE(kill(target.pid(), SIGCHLD) == 0);
    sleep_until(monotonic_now() + 10 * kMillisecond);
    (void)channel.collect(monotonic_now());
    REQUIRE(channel.standing(target.pid()));  // otherwise it was interrupted elsewhere
  }
  CHECK(guardian.restore().empty());
  CHECK(monotonic_now() - interrupted_ns >= kLongHandler);
  sleep_until(monotonic_now() + 100 * kMillisecond);
  CHECK(target.alive());
  CHECK_FALSE(handles(target.pid(), SIGTRAP));
}

TEST_CASE("a thread pays what it owes, once", "[pause]") {
  const ChildProcess target;
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(4);
  SigtrapChannel channel(target.pid(), guardian, injection, {});
  channel.add_thread(target.pid());
  std::vector<Paid> paid;
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  // A shot that came too late because the machine stalled is void, and is asked for again.
  while (channel.totals().pauses == 0 && monotonic_now() < deadline_ns) {
    if (!channel.pausing(target.pid())) channel.set_debt(target.pid(), kDebt, monotonic_now());
    sleep_until(monotonic_now() + kMillisecond);
    paid = channel.collect(monotonic_now());
  }
  REQUIRE(paid.size() == 1);
  CHECK(paid[0].tid == target.pid());
  CHECK(paid[0].end_ns - paid[0].start_ns >= kDebt);
  CHECK(channel.totals().asked_ns == kDebt);
  CHECK_FALSE(channel.pausing(target.pid()));
  CHECK(target.alive());
}

TEST_CASE("threads beyond the slots are told of", "[pause]") {
  const ChildProcess target;
  const ChildProcess other;  // takes the place of a second thread
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  SigtrapChannel channel(target.pid(), guardian, guardian.inject(1), {});
  channel.add_thread(target.pid());
  CHECK(channel.notices().empty());
  channel.add_thread(other.pid());
  CHECK(channel.notices() ==
        std::vector<std::string>{"more than 1 threads at a time: 1 of them were paused by ptrace"});
}

// The state after execve(): the kernel has removed the handler, and SIGTRAP would end the program.
TEST_CASE("a thread without the stub is never armed", "[pause]") {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  {
    const ChildProcess target;  // shares this memory
    tracee::Guardian guardian;
    guardian.adopt(target.pid());
    tracee::Injection injection;
    injection.slots = reinterpret_cast<Address>(memory);
    injection.slot_count = 4;
    SigtrapChannel channel(target.pid(), guardian, injection, {});
    channel.add_thread(target.pid());
    channel.set_debt(target.pid(), kDebt, monotonic_now());
    CHECK_FALSE(channel.pausing(target.pid()));
    sleep_until(monotonic_now() + 50 * kMillisecond);  // a shot would have fired long before
    CHECK(target.alive());
  }
  munmap(memory, 4096);
}

}  // namespace causalctl::pause
