// The sigtrap channel on a busy process: with the stub in it, and without.
#include "controller/pause/sigtrap_channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <random>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/target/guardian.h"

#undef CHECK
#include <catch2/catch.hpp>

namespace causalctl::pause {
namespace {

constexpr Nanoseconds kDebt = 5 * kMillisecond;
constexpr Nanoseconds kPatience = 5 * kSecond;

class BusyProcess {
 public:
  BusyProcess() : pid_(fork()) {
    if (pid_ == 0) {
      for (volatile bool busy = true; busy;) {
      }
      _exit(0);
    }
  }
  ~BusyProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

  Pid pid() const { return pid_; }
  bool alive() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  Pid pid_;
};

// Busy in its one thread, whose reset cannot meet a shot on its way; resets SIGTRAP a random time
// after start(), and then says so.
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
  static void stay_busy() {
    for (volatile bool busy = true; busy;) {
    }
  }

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
    if (write(ends_[1], "", 1) == 1) stay_busy();
    _exit(0);
  }

  Pid pid_ = 0;
  bool ended_ = false;
  int status_ = 0;
  int ends_[2] = {-1, -1};
};

}  // namespace

// Without a look at the disposition, the shot after the reset ends the target.
TEST_CASE("a target that resets SIGTRAP is not shot", "[pause]") {
  constexpr unsigned kRounds = 20;
  // As often as a profile does: every tick, and the debts that are worth a pause.
  constexpr Nanoseconds kTick = 2 * kMillisecond;
  constexpr Nanoseconds kLittleDebt = kMillisecond;
  constexpr Nanoseconds kAfter = 40 * kMillisecond;
  std::uint64_t pauses = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    ResettingProcess target(round);
    target::Guardian guardian;
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

TEST_CASE("a thread pays what it owes, once", "[pause]") {
  const BusyProcess target;
  target::Guardian guardian;
  guardian.adopt(target.pid());
  const target::Injection injection = guardian.inject(4);
  SigtrapChannel channel(target.pid(), guardian, injection, {});
  channel.add_thread(target.pid());
  std::vector<Paid> paid;
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  // A shot that a stall of the machine has made stale is void, and asked for again.
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

// As after execve(): the kernel has taken the handler away, and SIGTRAP would end the program.
TEST_CASE("a thread without the stub is never armed", "[pause]") {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  {
    const BusyProcess target;  // has this memory, too
    target::Guardian guardian;
    guardian.adopt(target.pid());
    target::Injection injection;
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
