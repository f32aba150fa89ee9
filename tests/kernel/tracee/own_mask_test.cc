// Tests digests of processes whose threads block all signals, for a moment or by their own choice.
#include "controller/tracee/inject/own_mask.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "controller/base/procfs.h"
#include "controller/tracee/digest.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

void set_all(int how) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(how, &all, nullptr);
}

// A child process with one thread, which calls the function for ever.
class Blocker {
 public:
  explicit Blocker(void (*function)()) {
    pid_ = fork();
    if (pid_ != 0) return;
    alarm(60);
    for (;;) function();
  }
  ~Blocker() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;

  Pid pid() const { return pid_; }
  bool is_in_state(char state) const {
    return test::eventually(5 * kSecond,
                            [&] { return procfs::status(pid_).value().state == state; });
  }
  bool blocks_all() const {
    return test::eventually(5 * kSecond, [&] {
      return procfs::has_signal(procfs::status(pid_).value().signals_blocked, SIGTERM);
    });
  }

 private:
  Pid pid_ = 0;
};

Involvement by_nobody() {
  Involvement involvement;
  involvement.helper = getpid();  // a process that traces no other
  return involvement;
}

Digest digest_before(const Blocker& blocker) { return digest_of(blocker.pid(), by_nobody(), {}); }

// Acts as after a profile that made this thread execute system calls.
Digest digest_after(const Blocker& blocker) {
  Involvement involvement = by_nobody();
  involvement.restored = true;
  involvement.touched = {blocker.pid()};
  return digest_of(blocker.pid(), involvement, {});
}

std::string mask_in(const Digest& digest) {
  const auto found = std::find_if(digest.lines.begin(), digest.lines.end(), [](const auto& line) {
    return line.starts_with("signals blocked by thread ");
  });
  return found == digest.lines.end() ? "" : found->substr(found->rfind(' ') + 1);
}

void compute_for(Nanoseconds duration_ns) {
  const Nanoseconds end_ns = monotonic_now() + duration_ns;
  while (monotonic_now() < end_ns) {
  }
}

}  // namespace

TEST_CASE("a mask that lasts for a moment is not taken for the thread's own", "[tracee]") {
  SECTION("it computes meanwhile") {
    const Blocker blocker([] {
      set_all(SIG_BLOCK);
      compute_for(3 * kMillisecond);
      set_all(SIG_UNBLOCK);
      compute_for(kMillisecond);
    });
    REQUIRE(blocker.blocks_all());
    for (int digests = 0; digests < 20; ++digests) {
      const std::string mask = mask_in(digest_before(blocker));
      CHECK((mask.empty() || mask == "0000000000000000"));
    }
  }
  SECTION("it has no core meanwhile") {
    const Blocker blocker([] {
      set_all(SIG_BLOCK);
      raise(SIGSTOP);
      set_all(SIG_UNBLOCK);
      pause();
    });
    REQUIRE(blocker.is_in_state('T'));
    const Digest before = digest_before(blocker);
    kill(blocker.pid(), SIGCONT);
    REQUIRE(blocker.is_in_state('S'));
    const Digest after = digest_after(blocker);
    CHECK(mask_in(after) == "0000000000000000");
    CHECK(differences(before, after).empty());
  }
}

TEST_CASE("a thread may block all signals by its own choice", "[tracee]") {
  const bool computes = GENERATE(true, false);
  CAPTURE(computes);
  const Blocker blocker(computes ? +[] { set_all(SIG_BLOCK); } : +[] {
    set_all(SIG_BLOCK);
    pause();
  });
  REQUIRE(blocker.blocks_all());
  CHECK(test::eventually(5 * kSecond,
                         [&] { return mask_in(digest_before(blocker)) == "fffffffe7ffbfeff"; }));
  CHECK(mask_in(digest_after(blocker)) == "fffffffe7ffbfeff");
}

// This holds even if nothing else tells whose mask it is: the thread does not run.
TEST_CASE("a mask that a profile has left behind is seen", "[tracee]") {
  const Blocker blocker([] {
    signal(SIGUSR1, [](int) {});
    pause();
    set_all(SIG_BLOCK);
    raise(SIGSTOP);
  });
  REQUIRE(blocker.is_in_state('S'));
  const Digest before = digest_before(blocker);
  CHECK(differences(before, digest_after(blocker)).empty());
  kill(blocker.pid(), SIGUSR1);
  REQUIRE(blocker.is_in_state('T'));
  const auto changes = differences(before, digest_after(blocker));
  REQUIRE(changes.size() == 1);
  CHECK_THAT(changes[0],
             Catch::Matchers::Contains("0000000000000000 before, fffffffe7ffbfeff after"));
}

}  // namespace causalctl::tracee
