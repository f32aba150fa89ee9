// For LD_PRELOAD: gives an unmodified server a twin in which one function is really faster. Before
// each answer (sendmsg, write, writev) the program that is named in SLOW_ANSWERS_IN goes
// SLOW_ANSWERS times round a loop, in slow_answer(). Other programs are left alone.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness.h"

static long turns;
static ssize_t (*next_sendmsg)(int, const struct msghdr*, int);
static ssize_t (*next_write)(int, const void*, size_t);
static ssize_t (*next_writev)(int, const struct iovec*, int);

__attribute__((constructor)) static void prepare(void) {
  *(void**)&next_sendmsg = dlsym(RTLD_NEXT, "sendmsg");
  *(void**)&next_write = dlsym(RTLD_NEXT, "write");
  *(void**)&next_writev = dlsym(RTLD_NEXT, "writev");
  const char* program = getenv("SLOW_ANSWERS_IN");
  const char* wanted = getenv("SLOW_ANSWERS");
  if (program && wanted && strcmp(program, program_invocation_short_name) == 0) {
    turns = strtol(wanted, NULL, 10);
  }
}

NOINLINE void slow_answer(void) {
  uint64_t step = 1;
  for (long turn = 0; turn < turns; ++turn) SPIN(step);
}

ssize_t sendmsg(int to, const struct msghdr* message, int flags) {
  slow_answer();
  return next_sendmsg(to, message, flags);
}

ssize_t write(int to, const void* bytes, size_t size) {
  slow_answer();
  return next_write(to, bytes, size);
}

ssize_t writev(int to, const struct iovec* parts, int count) {
  slow_answer();
  return next_writev(to, parts, count);
}
