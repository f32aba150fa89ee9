// One thread per blocking system call: each loops over a short wait and a little work, and counts
// what only an unseen signal or a broken restart could cause.
//
// Output at the end, a line per call: `call NAME calls N eintr N short N wrong N mean_us N`, and
// the totals `eintr_total N`, `short_total N`, `wrong_total N`.
//   eintr    the call returned EINTR
//   short    it returned before its timeout, as far as the kernel can tell the time
//   wrong    it returned anything else than a timeout, or came back seconds late
//   mean_us  how long it took, which a call that starts again with its full timeout makes longer
#include "blocking_calls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { kLateBeats = 150 };  // at least three seconds
const struct timespec kTimeout = {0, kTimeoutMs * 1000000L};

static uint64_t work_iterations;
static double children = 0;
static atomic_bool calls_have_ended;
static _Atomic uint64_t* beats;

static NOINLINE void little_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

int error_if(bool failed, int expected) {
  if (!failed) return -1;
  return errno == expected ? 0 : errno;
}

struct timespec timeout_on(clockid_t clock) {
  struct timespec until;
  clock_gettime(clock, &until);
  until.tv_nsec += kTimeout.tv_nsec;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  return until;
}

struct caller {
  const struct blocking_call* call;
  uint64_t calls, interrupted, too_short, wrong;
  int64_t waited_ns;
  pthread_t thread;
};

// Waits of kTimeout, counted by a process of its own: it stands still when the machine does, so a
// call is not late for that, but not when something stops this one. It is nobody's child here: a
// thread that has one is profiled in another way (controller/tracee/guardian/forking_threads.h).
static void start_beats(void) {
  beats = mmap(NULL, sizeof(*beats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (beats == MAP_FAILED) die("mmap");
  const pid_t target = getpid();
  const pid_t between = fork();
  if (between < 0) die("fork");
  if (between > 0) {
    int status = 0;
    if (waitpid(between, &status, 0) != between || status != 0) die("fork");
    return;
  }
  const pid_t counting = fork();
  if (counting != 0) _exit(counting < 0);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) close(fd);  // for a reader of all output
  while (kill(target, 0) == 0) {
    nanosleep(&kTimeout, NULL);
    atomic_fetch_add(beats, 1);
  }
  _exit(0);
}

static int64_t ns(struct timespec time) { return time.tv_sec * 1000000000LL + time.tv_nsec; }

struct moment {
  int64_t exact_ns;
  int64_t of_ticks_ns;
  uint64_t beats;
};

static struct moment now(void) {
  struct timespec of_ticks;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &of_ticks);
  return (struct moment){now_ns(), ns(of_ticks), atomic_load(beats)};
}

// A socket's timeout (socket(7), SO_RCVTIMEO) is counted in jiffies. Where the tick comes late, as
// on a virtual machine whose processor is taken away, they lag behind, and the timeout ends as much
// too early. The coarse clock lags with them: it may be one tick short.
static bool came_early(const struct blocking_call* call, struct moment start, struct moment end) {
  if (!call->has_timeout) return false;
  if (end.exact_ns - start.exact_ns >= kTimeout.tv_nsec - 1000) return false;
  if (!call->in_jiffies) return true;
  struct timespec tick;
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  return end.of_ticks_ns - start.of_ticks_ns < kTimeout.tv_nsec - ns(tick);
}

static void* run_calls(void* argument) {
  struct caller* caller = argument;
  while (!stopping()) {
    const struct moment start = now();
    const int error = caller->call->make();
    const struct moment end = now();
    caller->calls++;
    caller->waited_ns += end.exact_ns - start.exact_ns;
    if (error == EINTR) {
      caller->interrupted++;
    } else if (error != 0) {
      caller->wrong++;
    } else if (came_early(caller->call, start, end)) {
      caller->too_short++;
    } else if (end.beats - start.beats > kLateBeats) {
      caller->wrong++;
    }
    little_work(work_iterations);
    round_done();
  }
  return NULL;
}

static void* serve_calls(void* unused) {
  while (!atomic_load(&calls_have_ended)) {
    nanosleep(&kTimeout, NULL);
    serve();
  }
  return unused;
}

// A child's end is a SIGCHLD that nobody handles: no call may see it.
static void* run_children(void* unused) {
  while (!stopping()) {
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) _exit(0);
    while (waitpid(pid, NULL, 0) < 0) {
    }
    const struct timespec between = {0, (long)(1e9 / children)};
    nanosleep(&between, NULL);
  }
  return unused;
}

// A caller for each call that forks only if children are wanted; how many.
static size_t make_callers(struct caller* callers, const struct blocking_call* calls,
                           size_t count) {
  size_t made = 0;
  for (size_t i = 0; i < count; i++) {
    if (!calls[i].forks || children > 0) callers[made++].call = &calls[i];
  }
  return made;
}

static void print_results(const struct caller* callers, size_t count) {
  uint64_t interrupted = 0;
  uint64_t too_short = 0;
  uint64_t wrong = 0;
  for (size_t i = 0; i < count; i++) {
    const struct caller* caller = &callers[i];
    printf("call %s calls %llu eintr %llu short %llu wrong %llu mean_us %lld\n", caller->call->name,
           (unsigned long long)caller->calls, (unsigned long long)caller->interrupted,
           (unsigned long long)caller->too_short, (unsigned long long)caller->wrong,
           (long long)(caller->waited_ns / 1000 / (int64_t)(caller->calls + !caller->calls)));
    interrupted += caller->interrupted;
    too_short += caller->too_short;
    wrong += caller->wrong;
  }
  printf("eintr_total %llu\nshort_total %llu\nwrong_total %llu\n", (unsigned long long)interrupted,
         (unsigned long long)too_short, (unsigned long long)wrong);
}

static void start(pthread_t* thread, void* (*run)(void*), void* argument) {
  if (pthread_create(thread, NULL, run, argument) != 0) die("pthread_create");
}

int main(int argc, char** argv) {
  double work_us = 500;
  const struct own_option own[] = {
      {"--children", &children, NULL, "fork so many a second, and wait for others (0)"},
      {"--work-us", &work_us, NULL, "work of each thread between two calls (500)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "threads in every kind of blocking call; point: round_done", own);
  start_beats();  // before there are threads
  set_up_timed();
  set_up_served();
  work_iterations = (uint64_t)(calibrate("little", little_work) * work_us / 1000);
  struct caller* callers = calloc(calls_timed_count + calls_served_count, sizeof(struct caller));
  if (callers == NULL) die("calloc");
  size_t count = make_callers(callers, calls_timed, calls_timed_count);
  count += make_callers(callers + count, calls_served, calls_served_count);
  pthread_t serving;
  start(&serving, serve_calls, NULL);
  for (size_t i = 0; i < count; i++) start(&callers[i].thread, run_calls, &callers[i]);
  pthread_t forking;
  if (children > 0) start(&forking, run_children, NULL);
  ready();
  wait_for_end();
  if (children > 0) pthread_join(forking, NULL);
  for (size_t i = 0; i < count; i++) pthread_join(callers[i].thread, NULL);
  atomic_store(&calls_have_ended, true);
  pthread_join(serving, NULL);
  if (atomic_load(beats) == 0) die("nothing has counted the beats");
  print_results(callers, count);
  free(callers);
  tear_down_timed();
  tear_down_served();
  return finish();
}
