// The sigtrap channel on a busy process: with the stub in it, and without.
#include "controller/pause/sigtrap_channel.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "controller/base/clock.h"
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

}  // namespace

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
