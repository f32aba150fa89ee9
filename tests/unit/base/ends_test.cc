// Every request to end is answered, whatever the working thread is blocked in. Each case is a
// process of its own, which such a signal may end.
#include "controller/base/ends.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "controller/base/clock.h"

namespace causalctl {
namespace {

constexpr int kCame = 7;  // an exit status

// Runs the body in a child, which says when it is ready by the function that it is given.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void()>& ready)>& body) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(STDERR_FILENO);
      body([&] { (void)!write(ends[1], "r", 1); });
      _exit(kCame);
    }
    close(ends[1]);
    char word = 0;
    REQUIRE(read(ends[0], &word, 1) == 1);
    close(ends[0]);
  }

  void signal(int number) const { REQUIRE(kill(pid_, number) == 0); }
  bool lives(int& status) const { return waitpid(pid_, &status, WNOHANG) == 0; }
  int status() const {
    int status = 0;
    REQUIRE(waitpid(pid_, &status, 0) == pid_);
    return status;
  }

 private:
  pid_t pid_ = 0;
};

bool ended_by(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

void sleep_for_ever() {
  for (;;) pause();
}

TEST_CASE("outside of the work a signal ends the process at once, also an ignored one", "[ends]") {
  const int number = GENERATE(SIGINT, SIGTERM, SIGHUP);
  const Child child([&](const auto& ready) {
    std::signal(SIGINT, SIG_IGN);  // as a script starts a program with `&`
    std::signal(SIGHUP, SIG_DFL);  // these tests may run under nohup
    begin_taking_signals();
    ready();
    sleep_for_ever();
  });
  child.signal(number);
  CHECK(ended_by(child.status(), number));
}

TEST_CASE("a SIGHUP that was ignored stays so (nohup)", "[ends]") {
  const Child child([](const auto& ready) {
    std::signal(SIGHUP, SIG_IGN);
    begin_taking_signals();
    const Interrupts interrupts;
    ready();
    while (Interrupts::count() == 0) pause();
  });
  child.signal(SIGHUP);
  child.signal(SIGTERM);
  CHECK(WEXITSTATUS(child.status()) == kCame);
}

TEST_CASE("within the work it is counted, and cuts a sleep short", "[ends]") {
  const Child child([](const auto& ready) {
    begin_taking_signals();
    const Interrupts interrupts;
    ready();
    while (Interrupts::count() == 0) pause();
  });
  child.signal(SIGINT);
  child.signal(SIGTERM);  // of the same request, as when a terminal and a script ask
  CHECK(WEXITSTATUS(child.status()) == kCame);
}

TEST_CASE("a second request ends the work at once", "[ends]") {
  const Child child([](const auto& ready) {
    begin_taking_signals();
    const Interrupts interrupts;
    ready();
    sleep_for_ever();
  });
  child.signal(SIGINT);
  int status = 0;
  while (child.lives(status)) {
    sleep_until(monotonic_now() + 100 * kMillisecond);
    child.signal(SIGTERM);
  }
  CHECK(ended_by(status, SIGTERM));
}

TEST_CASE("after a request nothing is waited for behind the work", "[ends]") {
  const Child child([](const auto& ready) {
    begin_taking_signals();
    {
      const Interrupts interrupts;
      ready();
      while (Interrupts::count() == 0) pause();
    }
    sleep_for_ever();  // as in a write to a reader that has stopped
  });
  const Nanoseconds begin_ns = monotonic_now();
  child.signal(SIGINT);
  CHECK(ended_by(child.status(), SIGINT));
  CHECK(monotonic_now() - begin_ns > 400 * kMillisecond);  // a disk may take as long
}

TEST_CASE("after a request what computes goes on", "[ends]") {
  const Child child([](const auto& ready) {
    begin_taking_signals();
    {
      const Interrupts interrupts;
      ready();
      while (Interrupts::count() == 0) pause();
    }
    const Nanoseconds begin_ns = process_cpu_now();
    while (process_cpu_now() - begin_ns < 800 * kMillisecond) continue;
  });
  child.signal(SIGINT);
  CHECK(WEXITSTATUS(child.status()) == kCame);
}

TEST_CASE("what must not stay is removed", "[ends]") {
  namespace fs = std::filesystem;
  std::string path = (fs::temp_directory_path() / "ends-XXXXXX").string();
  close(mkstemp(path.data()));
  const Child child([&](const auto& ready) {
    begin_taking_signals();
    const AtEnd removal([&] { unlink(path.c_str()); });
    ready();
    sleep_for_ever();
  });
  child.signal(SIGINT);
  CHECK(ended_by(child.status(), SIGINT));
  CHECK_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace causalctl
