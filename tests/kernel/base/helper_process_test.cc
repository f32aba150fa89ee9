// What a helper process keeps, what it is told, and how its end and that of its parent are seen.
#include "controller/base/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "controller/base/execute.h"
#include "controller/base/procfs.h"

namespace causalctl {
namespace {

constexpr Nanoseconds kLong = 10 * kSecond;

// The files that the calling process has open, except for the folder in which they are listed.
std::string open_files() {
  std::vector<std::string> files;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const auto file = std::filesystem::read_symlink(each, closed).string();
    if (!closed && file.find("/fd") == std::string::npos) {
      files.push_back(each.path().filename().string() + " " + file.substr(0, file.find(':')));
    }
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::string& file : files) all += file + "\n";
  return all;
}

// Receives, within a time that a test may wait.
template <typename Message>
Message answer_of(const HelperProcess& helper) {
  Message message{};
  REQUIRE(helper.channel().wait_until(monotonic_now() + kLong));
  REQUIRE(helper.channel().receive(message));
  return message;
}

bool ends(Pid pid) {
  const Nanoseconds deadline_ns = monotonic_now() + kLong;
  while (!procfs::has_ended(pid) && monotonic_now() < deadline_ns) {
    sleep_until(monotonic_now() + kMillisecond);
  }
  return procfs::has_ended(pid);
}

}  // namespace

TEST_CASE("a helper answers, sees its channel close, and ends", "[helper]") {
  HelperProcess helper("a helper", [](Channel& channel, Pid) {
    for (int number = 0; channel.receive(number);) (void)channel.send(number + 1);
  });
  REQUIRE(helper.channel().send(41));
  CHECK(answer_of<int>(helper) == 42);
  int none = 0;
  CHECK_FALSE(helper.channel().receive(none, MSG_DONTWAIT));
  CHECK(errno == EAGAIN);
  CHECK_FALSE(helper.channel().wait_until(monotonic_now() + kMillisecond));
  CHECK_FALSE(helper.ended_within(kMillisecond));
  helper.channel().close();
  CHECK(helper.ended_within(kLong) == std::optional(0));
}

TEST_CASE("that a helper is killed is seen at its channel", "[helper]") {
  HelperProcess helper("a helper", [](Channel&, Pid) { pause(); });
  CHECK_FALSE(helper.channel().is_closed());
  kill(helper.pid(), SIGKILL);
  CHECK(WTERMSIG(helper.wait_for_end()) == SIGKILL);
  CHECK(helper.channel().is_closed());
  int none = 0;
  CHECK_FALSE(helper.channel().receive(none));
  CHECK(errno == 0);
  CHECK_FALSE(helper.channel().send(1));
  CHECK(errno == EPIPE);
}

TEST_CASE("a helper that is reaped already is not waited for", "[helper]") {
  HelperProcess helper("a helper", [](Channel&, Pid) { _exit(7); });
  const bool patiently = GENERATE(true, false);
  const std::optional<int> status = patiently ? helper.wait_for_end() : helper.ended_within(kLong);
  CHECK(status == std::optional(7 << 8));
  const Nanoseconds start_ns = monotonic_now();
  CHECK(helper.ended_within(kLong) == status);
  CHECK(helper.wait_for_end() == status);
  CHECK(monotonic_now() - start_ns < kLong / 2);
}

TEST_CASE("a helper that another has reaped is not waited for", "[helper]") {
  HelperProcess helper("a helper", [](Channel&, Pid) {});
  REQUIRE(waitpid(helper.pid(), nullptr, 0) == helper.pid());
  const Nanoseconds start_ns = monotonic_now();
  CHECK(helper.ended_within(kLong) == std::optional(0));
  CHECK(monotonic_now() - start_ns < kLong / 2);
}

TEST_CASE("a settled helper keeps the files that it names, and a session of its own", "[helper]") {
  const Fd dropped(memfd_create("dropped", MFD_CLOEXEC));
  const Fd kept(memfd_create("kept", MFD_CLOEXEC));
  const Fd dropped_too(memfd_create("dropped_too", MFD_CLOEXEC));
  HelperProcess helper("a helper", [&](Channel& channel, Pid) {
    const Fd signals =
        settle({.name = "helper", .kept = {channel.descriptor(), kept.get(), STDERR_FILENO}});
    SentText text;
    text.set(open_files() + (getsid(0) == getpid() ? "own session" : "session of another") +
             ", socket " + std::to_string(channel.descriptor()));
    (void)channel.send(text);
  });
  const std::string files = answer_of<SentText>(helper).c_str();
  helper.wait_for_end();
  INFO(files);
  CHECK(files.find("0 /dev/null\n1 /dev/null\n") != std::string::npos);
  CHECK(files.find("2 /dev/null\n") == std::string::npos);
  CHECK(files.find(std::to_string(kept.get()) + " /memfd\n") != std::string::npos);
  CHECK(files.find(std::to_string(dropped.get()) + " /memfd") == std::string::npos);
  CHECK(files.find(std::to_string(dropped_too.get()) + " /memfd") == std::string::npos);
  CHECK(files.find("own session") != std::string::npos);
  // 0, 1, 2, what it keeps, its socket and its signals.
  CHECK(std::count(files.begin(), files.end(), '\n') == 6);
}

// In a container or below a chroot(2) there may be none.
TEST_CASE("a settled helper keeps no file of its parent's where there is no /dev/null",
          "[helper]") {
  if (geteuid() != 0) {
    WARN("needs root, for chroot");
    return;
  }
  int ends_of_pipe[2];
  REQUIRE(pipe2(ends_of_pipe, O_CLOEXEC) == 0);
  const Fd reader(ends_of_pipe[0]);
  Fd writer(ends_of_pipe[1]);
  HelperProcess helper("a helper", [&](Channel& channel, Pid) {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) dup2(writer.get(), fd);
    if (chroot("/proc/self/fdinfo") != 0) _exit(1);
    (void)channel.send(0);
    const Fd signals = settle({.name = "helper", .kept = {channel.descriptor(), STDERR_FILENO}});
    int word = 0;
    const bool at_end = read(STDIN_FILENO, &word, sizeof word) == 0;
    const bool refused = write(STDOUT_FILENO, &word, sizeof word) < 0;
    (void)channel.send(at_end && refused);
    (void)channel.receive(word);
  });
  writer.reset();
  CHECK(answer_of<int>(helper) == 0);
  CHECK(answer_of<bool>(helper));
  pollfd parents{reader.get(), 0, 0};
  CHECK(poll(&parents, 1, 0) == 1);  // no process has the other end
  CHECK(parents.revents == POLLHUP);
  helper.channel().close();
  CHECK(helper.wait_for_end() == 0);
}

TEST_CASE("a settled helper ignores some signals and reads others", "[helper]") {
  HelperProcess helper("a helper", [](Channel& channel, Pid) {
    const Fd signals = settle({.name = "helper",
                               // One that is both is read: it is blocked.
                               .ignored = {SIGTERM, SIGUSR1},
                               .watched = {SIGUSR1},
                               .kept = {channel.descriptor()}});
    (void)channel.send(0);
    pollfd ready{signals.get(), POLLIN, 0};
    (void)poll(&ready, 1, static_cast<int>(kLong / kMillisecond));
    signalfd_siginfo info{};
    (void)!read(signals.get(), &info, sizeof info);
    (void)channel.send(static_cast<int>(info.ssi_signo));
  });
  CHECK(answer_of<int>(helper) == 0);
  kill(helper.pid(), SIGTERM);
  kill(helper.pid(), SIGUSR1);
  CHECK(answer_of<int>(helper) == SIGUSR1);
  CHECK(helper.wait_for_end() == 0);
}

TEST_CASE("a helper is told of its parent's end, or ends with it", "[helper]") {
  const bool told = GENERATE(true, false);
  int ends_of_pipe[2];
  REQUIRE(pipe2(ends_of_pipe, O_CLOEXEC) == 0);
  const Fd reader(ends_of_pipe[0]);
  Fd writer(ends_of_pipe[1]);
  const auto tell = [&](Pid pid) { (void)!write(writer.get(), &pid, sizeof pid); };
  HelperProcess parent("a parent", [&](Channel&, Pid) {
    HelperProcess helper("a helper", [&](Channel& channel, Pid own_parent) {
      Fd signals;
      if (told) {
        signals = settle({.name = "helper",
                          .watched = {SIGUSR1},
                          .first_thread_signal = SIGUSR1,
                          .kept = {channel.descriptor(), writer.get()}});
      } else {
        end_with(own_parent, SIGKILL);
      }
      tell(getpid());
      if (!told) pause();
      pollfd ready{signals.get(), POLLIN, 0};
      if (poll(&ready, 1, static_cast<int>(kLong / kMillisecond)) == 1) tell(-1);
    });
    pause();
  });
  writer.reset();
  Pid helper = 0;
  REQUIRE(read(reader.get(), &helper, sizeof helper) == sizeof helper);
  kill(parent.pid(), SIGKILL);
  parent.wait_for_end();
  CHECK(ends(helper));
  Pid word = 0;
  CHECK(read(reader.get(), &word, sizeof word) == static_cast<ssize_t>(told ? sizeof word : 0));
}

TEST_CASE("an error of a helper is thrown as it was there", "[helper]") {
  const auto sent = [](const std::exception& error) {
    SentError message;
    message.set(error);
    return message;
  };
  CHECK_NOTHROW(SentError().rethrow());
  CHECK_THROWS_AS(sent(TargetGone("gone")).rethrow(), TargetGone);
  CHECK_THROWS_AS(sent(UsageError("wrong")).rethrow(), UsageError);
  CHECK_THROWS_WITH(sent(UsageError("wrong")).rethrow("side A: "), "side A: wrong");
  const Error from_kernel = Error::from_errno("open(x)", ENOENT, "a hint", ExitCode::bug);
  try {
    sent(from_kernel).rethrow();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == from_kernel.what());
    CHECK(error.hint() == "a hint");
    CHECK(error.error_number() == ENOENT);
    CHECK(error.code() == ExitCode::bug);
  }
  try {
    sent(std::runtime_error(std::string(5000, 'x'))).rethrow();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == std::string(1023, 'x'));
    CHECK(error.code() == ExitCode::bug);
  }
}

TEST_CASE("whether a helper has become another program is told", "[helper]") {
  const auto failure_of = [](const char* program) {
    HelperProcess helper("a program", [&](Channel& channel, Pid) {
      execute_or_tell(channel, [&] { execute({program}, {}, "/"); });
    });
    SentError failure;
    const bool failed = helper.channel().receive(failure);
    CHECK(helper.wait_for_end() == (failed ? 127 << 8 : 0));
    return failed ? std::string(failure.what.c_str()) : "none";
  };
  CHECK(failure_of("true") == "none");
  CHECK_THAT(failure_of("/nonexistent"), Catch::Contains("cannot run '/nonexistent'"));
}

}  // namespace causalctl
