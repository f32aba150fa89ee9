#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef USE_COZ
#include <coz.h>
#else
#define COZ_PROGRESS_NAMED(name)
#endif

static double seconds = 0;
static double round_limit = 0;
static double given_per_ms = 0;
static const char* counter_file = NULL;

static atomic_bool stop;
static _Atomic uint64_t own_counter;
static _Atomic uint64_t* rounds = &own_counter;
static int64_t started_ns;
static int64_t ended_ns;
static _Atomic uint64_t interrupted_calls;

static const struct own_option common[] = {
    {"--seconds", &seconds, NULL, "end after this time (0: at SIGTERM)"},
    {"--rounds", &round_limit, NULL, "end after at least this many rounds (0: at SIGTERM)"},
    {"--per-ms", &given_per_ms, NULL, "loop iterations a millisecond (0: measured at the start)"},
    {"--counter", NULL, &counter_file, "file to keep the counter of rounds in (8 bytes, mapped)"},
    {NULL, NULL, NULL, NULL}};

void die(const char* what) {
  perror(what);
  exit(1);
}

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void print_help(const char* program, const char* description, const struct own_option* own) {
  printf("%s [OPTION VALUE]...: %s\n", program, description);
  const struct own_option* tables[] = {own, common};
  for (int table = 0; table < 2; table++) {
    for (const struct own_option* option = tables[table]; option->name; option++) {
      printf("  %-20s %s\n", option->name, option->help);
    }
  }
}

static const struct own_option* find(const struct own_option* table, const char* name) {
  for (; table->name; table++) {
    if (strcmp(table->name, name) == 0) return table;
  }
  return NULL;
}

static void set(const struct own_option* option, const char* value) {
  if (option->text) {
    *option->text = value;
    return;
  }
  char* end = NULL;
  *option->number = strtod(value, &end);
  if (end == value || *end != '\0' || *option->number < 0) {
    fprintf(stderr, "%s: not a number: %s\n", option->name, value);
    exit(2);
  }
}

static void map_counter(void) {
  const int fd = open(counter_file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(own_counter)) != 0) die(counter_file);
  rounds = mmap(NULL, sizeof(own_counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (rounds == MAP_FAILED) die("mmap");
  close(fd);
}

void harness_start(int argc, char** argv, const char* description, const struct own_option* own) {
  for (int i = 1; i < argc; i += 2) {
    if (strcmp(argv[i], "--help") == 0) {
      print_help(argv[0], description, own);
      exit(0);
    }
    const struct own_option* option = find(own, argv[i]);
    if (!option) option = find(common, argv[i]);
    if (!option || i + 1 == argc) {
      fprintf(stderr, "%s: %s\n", option ? "value missing" : "unknown option", argv[i]);
      exit(2);
    }
    set(option, argv[i + 1]);
  }
  if (counter_file) map_counter();
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  if (sigprocmask(SIG_BLOCK, &end, NULL) != 0) die("sigprocmask");
}

double calibrate(const char* name, void (*work)(uint64_t)) {
  enum { kIterations = 1000000, kTimes = 15 };
  double per_ms = given_per_ms;
  if (per_ms == 0) {
    int64_t fastest_ns = INT64_MAX;  // the fastest is the one that nobody disturbed
    for (int i = 0; i < kTimes; i++) {
      const int64_t start_ns = now_ns();
      work(kIterations);
      const int64_t elapsed_ns = now_ns() - start_ns;
      if (elapsed_ns < fastest_ns) fastest_ns = elapsed_ns;
    }
    per_ms = 1e6 * kIterations / (double)fastest_ns;
  }
  printf("per_ms %s %.0f\n", name, per_ms);
  return per_ms;
}

void ready(void) {
  started_ns = now_ns();
  printf("ready %d\n", (int)getpid());
  fflush(stdout);
}

pthread_t* start_workers(size_t count, void* (*work)(void*)) {
  pthread_t* workers = calloc(count, sizeof(*workers));
  if (!workers) die("calloc");
  for (size_t i = 0; i < count; i++) {
    if (pthread_create(&workers[i], NULL, work, NULL) != 0) die("pthread_create");
  }
  return workers;
}

void join_workers(pthread_t* workers, size_t count) {
  for (size_t i = 0; i < count; i++) pthread_join(workers[i], NULL);
  free(workers);
}

bool stopping(void) { return atomic_load_explicit(&stop, memory_order_relaxed); }

void count_round(void) {
  COZ_PROGRESS_NAMED("round");
  const uint64_t done = atomic_fetch_add_explicit(rounds, 1, memory_order_relaxed) + 1;
  if (round_limit > 0 && done == (uint64_t)round_limit) {
    atomic_store(&stop, true);
    kill(getpid(), SIGTERM);
  }
}

void wait_for_device(double wait_ms) {
  if (wait_ms == 0) return;
  const int64_t wait_ns = (int64_t)(wait_ms * 1e6);
  const struct timespec wait = {wait_ns / 1000000000, wait_ns % 1000000000};
  if (clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL) == EINTR) {
    atomic_fetch_add(&interrupted_calls, 1);
  }
}

void bind_to_core(int number) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) die("sched_getaffinity");
  number %= CPU_COUNT(&usable);
  int core = 0;
  while (!CPU_ISSET(core, &usable) || number-- > 0) core++;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) die("sched_setaffinity");
}

uint64_t rounds_done(void) { return atomic_load(rounds); }

void wait_for_end(void) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  const int64_t deadline_ns = started_ns + (int64_t)(seconds * 1e9);
  for (;;) {
    int signal_number = 0;
    if (seconds > 0) {
      const int64_t left_ns = deadline_ns - now_ns();
      if (left_ns <= 0) break;
      const struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
      signal_number = sigtimedwait(&end, NULL, &left);
    } else {
      signal_number = sigwaitinfo(&end, NULL);
    }
    if (signal_number == SIGTERM) break;
    if (errno == EINTR) interrupted_calls++;
  }
  ended_ns = now_ns();
  atomic_store(&stop, true);
}

int finish(void) {
  printf("rounds %llu\nelapsed_ns %lld\neintr %llu\n", (unsigned long long)rounds_done(),
         (long long)(ended_ns - started_ns), (unsigned long long)interrupted_calls);
  return fflush(stdout) == 0 ? 0 : 1;
}
