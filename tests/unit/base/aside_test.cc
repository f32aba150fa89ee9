// What may block is done aside: nobody waits for it longer than he says.
#include "controller/base/aside.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/standard_error.h"

namespace causalctl {
namespace {

TEST_CASE("jobs are done in their order, and a blocked one holds nobody up", "[aside]") {
  auto gate = std::make_shared<std::binary_semaphore>(0);
  auto done = std::make_shared<std::vector<int>>();
  Aside aside;
  aside.give(
      [gate, done] {
        gate->acquire();
        done->push_back(1);
      },
      10);
  aside.give([done] { done->push_back(2); }, 20);
  CHECK_FALSE(aside.wait(kMillisecond));
  CHECK(aside.jobs() == 2);
  CHECK(aside.bytes() == 30);
  gate->release();
  REQUIRE(aside.wait(kForEver));
  CHECK(*done == std::vector{1, 2});
  CHECK(aside.bytes() == 0);
}

TEST_CASE("jobs that are left are done when nobody waits any more", "[aside]") {
  auto gate = std::make_shared<std::binary_semaphore>(0);
  auto done = std::make_shared<std::binary_semaphore>(0);
  {
    Aside aside;
    aside.give([gate] { gate->acquire(); }, 0);
    aside.give([done] { done->release(); }, 0);
  }
  gate->release();
  done->acquire();
}

TEST_CASE("messages to a reader that has stopped hold nobody up", "[aside]") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    const Nanoseconds begin_ns = process_cpu_now();
    for (int i = 0; i < 1000; ++i) standard_error::write(std::string(1000, 'x') + "\n");
    standard_error::write_status("a status\n");
    _exit(process_cpu_now() - begin_ns < 10 * kSecond ? 7 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);  // for ever if it writes itself
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace causalctl
