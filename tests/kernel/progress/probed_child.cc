#include "tests/kernel/progress/probed_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <semaphore>
#include <stdexcept>
#include <thread>

#include "tests/kernel/progress/probed.h"

namespace probed {
namespace {

struct Request {
  char what = 0;
  unsigned argument = 0;
};

void hit_all(unsigned times) {
  for (unsigned i = 0; i < times; ++i) {
    function_1();
    function_2();
    function_3();
    function_4();
    function_5();
    overloaded(1);
    overloaded(1.0);
    hit_line();
    six_inlined_copies();
    two_inlined_copies();
    locked();
    unrolled();
    call_twin_a();
    call_twin_b();
    plain_probe();
    guarded_probe();
    syscall(SYS_getppid);
  }
}

// Makes hits on request, until the process ends.
class Worker {
 public:
  void start() { std::thread(&Worker::work, this).detach(); }

  void hit(unsigned times) {
    times_ = times;
    wanted_.release();
    done_.acquire();
  }

 private:
  void work() {
    for (;;) {
      wanted_.acquire();
      hit_all(times_);
      done_.release();
    }
  }

  unsigned times_ = 0;
  std::binary_semaphore wanted_{0};
  std::binary_semaphore done_{0};
};

[[noreturn]] void serve(int socket) {
  Worker worker;
  Request request;
  while (read(socket, &request, sizeof request) == sizeof request) {
    unsigned answer = 0;
    if (request.what == 'h') hit_all(request.argument);
    if (request.what == 'n') worker.start();
    if (request.what == 't') worker.hit(request.argument);
    if (request.what == 's') answer = guarded_semaphore();
    if (write(socket, &answer, sizeof answer) != sizeof answer) break;
  }
  _exit(0);
}

}  // namespace

Child::Child() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("socketpair");
  }
  socket_ = causalctl::Fd(ends[0]);
  causalctl::Fd other(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    socket_.reset();
    serve(other.get());
  }
}

Child::~Child() {
  socket_.reset();
  waitpid(pid_, nullptr, 0);
}

unsigned Child::ask(char what, unsigned argument) {
  const Request request{what, argument};
  unsigned answer = 0;
  if (write(socket_.get(), &request, sizeof request) != sizeof request ||
      read(socket_.get(), &answer, sizeof answer) != sizeof answer) {
    throw std::runtime_error("the probed child is gone");
  }
  return answer;
}

}  // namespace probed
