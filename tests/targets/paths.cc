// A program in which the place of a sample tells the one path that leads there: an oracle for
// unwinders.
//
// There are 10,000 leaves of equal size, in assembly, between the symbols paths_leaves and
// paths_leaves_end. Leaf number ABCD is only called by step<3, D>, which step<2, C> called, step<1,
// B> called, and step<0, A> called from path(). All leaves share these forty functions, so that a
// wrong frame makes a wrong path. D tells in addition how a leaf is entered:
//
//   0, 1, 2  directly
//   3        over B + 1 recursive calls of recurse()
//   4        over one call of recurse(), from which an exception is thrown to path() afterwards
//   5        over one call of recurse(), from which longjmp() leads to path() afterwards
//   6        from a handler on an alternate stack, on_signal(), of a signal that the thread sends
//            itself in recurse()
//   7        in a context of its own, whose entry is in_context()
//   8, 9     directly, and below is a frame of some KB
//
// Several threads walk the paths in pseudo-random order. It prints "ready PID ADDRESS" with the
// address of the first leaf, and runs until its standard input ends.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

// A function must be neither inlined nor cloned: its name is part of the path.
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

// Each leaf loops some microseconds: in a frame of its own, behind a push, and by a frame pointer.
// clang-format off
asm(R"(
.text
.balign 64
.globl paths_leaves
paths_leaves:
.rept 5000
  .balign 64
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset 3, -16
  sub $32, %rsp
  .cfi_def_cfa_offset 48
  mov %edi, %ebx
1: dec %ebx
  jnz 1b
  add $32, %rsp
  .cfi_def_cfa_offset 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .balign 64
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register 6
  and $-32, %rsp
1: dec %edi
  jnz 1b
  leave
  .cfi_def_cfa 7, 8
  ret
  .cfi_endproc
.endr
.balign 64
.globl paths_leaves_end
paths_leaves_end:
)");
// clang-format on

extern "C" const char paths_leaves, paths_leaves_end;

namespace {

constexpr int kLeafBytes = 64;
constexpr int kThreads = 3;
constexpr std::size_t kStack = 65536;

struct Thread {
  jmp_buf after_path;
  ucontext_t own;
  ucontext_t other;
  char* stack = nullptr;
  int path = 0;
};
thread_local Thread self;
int iterations = 4000;
volatile long sink;

__attribute__((always_inline)) inline void enter_leaf(int path) {
  reinterpret_cast<void (*)(int)>(reinterpret_cast<std::uintptr_t>(&paths_leaves) +
                                  static_cast<std::uintptr_t>(path) * kLeafBytes)(iterations);
}

int digit(int path, int place) {
  for (int i = 3; i > place; --i) path /= 10;
  return path % 10;
}

enum class Then { come_back, throw_it, jump, raise_signal };

NOINLINE void recurse(int path, int times, Then then) {
  if (times > 1) {
    recurse(path, times - 1, then);
  } else if (then == Then::raise_signal) {
    self.path = path;
    raise(SIGUSR1);
  } else {
    enter_leaf(path);
    if (then == Then::throw_it) throw path;
    if (then == Then::jump) longjmp(self.after_path, 1);
  }
  sink = sink + times;
}

NOINLINE void on_signal(int) {
  enter_leaf(self.path);
  sink = sink + 1;
}

NOINLINE void in_context() {
  enter_leaf(self.path);
  sink = sink + 1;
}

NOINLINE void switch_context(int path) {
  getcontext(&self.other);
  self.other.uc_stack.ss_sp = self.stack;
  self.other.uc_stack.ss_size = kStack;
  self.other.uc_link = &self.own;
  self.path = path;
  makecontext(&self.other, in_context, 0);
  swapcontext(&self.own, &self.other);
}

NOINLINE void enter(int path) {
  switch (digit(path, 3)) {
    case 3:
      recurse(path, digit(path, 1) + 1, Then::come_back);
      break;
    case 4:
      recurse(path, 1, Then::throw_it);
      break;
    case 5:
      recurse(path, 1, Then::jump);
      break;
    case 6:
      recurse(path, 1, Then::raise_signal);
      break;
    case 7:
      switch_context(path);
      break;
    default:
      enter_leaf(path);
  }
  sink = sink + 1;
}

using Step = void (*)(int path);
extern const Step steps[4][10];

// Each has a frame of another size.
template <int level, int number>
NOINLINE void step(int path) {
  volatile char room[(level == 3 && number >= 8 ? 6000 : 16) + number * 24];
  room[0] = static_cast<char>(path);
  if constexpr (level < 3) {
    steps[level + 1][digit(path, level + 1)](path);
  } else {
    enter(path);
  }
  sink = sink + room[0];
}

#define STEPS(level)                                                                   \
  {                                                                                    \
    step<level, 0>, step<level, 1>, step<level, 2>, step<level, 3>, step<level, 4>,    \
        step<level, 5>, step<level, 6>, step<level, 7>, step<level, 8>, step<level, 9> \
  }
const Step steps[4][10] = {STEPS(0), STEPS(1), STEPS(2), STEPS(3)};

NOINLINE void path(int number) {
  try {
    if (setjmp(self.after_path) == 0) steps[0][digit(number, 0)](number);
  } catch (int) {
    sink = sink + 1;
  }
}

NOINLINE void* walk(void* seed) {
  self.stack = static_cast<char*>(
      mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack_t alternate{};
  alternate.ss_size = kStack;
  alternate.ss_sp =
      mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigaltstack(&alternate, nullptr);
  auto random = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(seed)) + 1;
  for (;;) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    path(static_cast<int>((random >> 33U) % 10000));
  }
}

}  // namespace

int main() {
  if (&paths_leaves_end - &paths_leaves != 10000 * kLeafBytes) return 3;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  for (std::uintptr_t i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, walk, reinterpret_cast<void*>(i)) != 0) return 3;
  }
  printf("ready %d %lx\n", getpid(), reinterpret_cast<unsigned long>(&paths_leaves));
  fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  _exit(0);
}
