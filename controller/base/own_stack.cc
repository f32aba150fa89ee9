#include "controller/base/own_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <cstddef>

namespace causalctl {
namespace {

constexpr std::size_t kEnough = std::size_t{8} << 20;  // the usual limit
constexpr std::size_t kGuard = std::size_t{64} << 10;

bool is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kEnough;
}

void give_to_threads() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, kEnough) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

struct Call {
  int (*function)(int, char**) = nullptr;
  int argc = 0;
  char** argv = nullptr;
  int result = 0;
};

Call* current = nullptr;  // makecontext(3) passes no pointer

void run_current() { current->result = current->function(current->argc, current->argv); }

}  // namespace

int with_own_stack(int (*function)(int, char**), int argc, char** argv) {
  if (!is_limited()) return function(argc, argv);
  give_to_threads();
  void* const memory = mmap(nullptr, kGuard + kEnough, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  ucontext_t before, own;
  if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE) != 0 || getcontext(&own) != 0) {
    return function(argc, argv);
  }
  own.uc_stack.ss_sp = memory;
  own.uc_stack.ss_size = kGuard + kEnough;
  own.uc_link = &before;
  Call call{function, argc, argv};
  current = &call;
  makecontext(&own, run_current, 0);
  return swapcontext(&before, &own) == 0 ? call.result : function(argc, argv);
}

}  // namespace causalctl
