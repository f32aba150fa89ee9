#include "controller/tracee/guardian/forking_threads.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "controller/base/procfs.h"

namespace causalctl::tracee {
namespace {

// Makes a child of the calling thread, for the lifetime of the object.
class ForkingChild {
 public:
  ForkingChild() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ForkingChild(const ForkingChild&) = delete;
  ForkingChild& operator=(const ForkingChild&) = delete;
  ~ForkingChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

TEST_CASE("a thread that was seen with a child forks", "[tracee]") {
  const Pid self = getpid();
  ForkingThreads forking(self);
  CHECK_FALSE(forking.contains(self));
  {
    const ForkingChild child;
    CHECK(forking.contains(self));
  }
  CHECK(forking.contains(self));
  CHECK_FALSE(ForkingThreads(self).contains(self));
}

TEST_CASE("a poll of all threads remembers which have children", "[tracee]") {
  const Pid self = getpid();
  ForkingThreads alone(self);
  ForkingThreads beside_another(self);
  {
    const ForkingChild child;
    alone.poll({self});
    beside_another.poll({self, self});
  }
  CHECK_FALSE(alone.contains(self));  // no thread has to be woken
  CHECK(beside_another.contains(self));
}

}  // namespace
}  // namespace causalctl::tracee
