// main() calls serve(), which works. Every 4 ms a signal interrupts it, whose handler on_tick()
// runs on a stack of its own and works for 0.5 ms. Every fourth one sleeps for 2 ms, and every
// fourth one is interrupted itself, by on_user().
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char room[65536];

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) static void burn(long long ns) {
  const long long until = now() + ns;
  while (now() < until) {
  }
  __asm__ volatile("");
}

__attribute__((noinline)) static void sleeps(void) {
  usleep(2000);
  __asm__ volatile("");
}

static void on_user(int number) {
  (void)number;
  burn(300000);
  __asm__ volatile("");
}

static void on_tick(int number) {
  static unsigned ticks;
  (void)number;
  burn(500000);
  if (++ticks % 4 == 0) sleeps();
  if (ticks % 4 == 2) raise(SIGUSR1);
  __asm__ volatile("");
}

__attribute__((noinline)) static void parse(void) {
  burn(700000);
  __asm__ volatile("");
}

__attribute__((noinline)) static void serve(void) {
  parse();
  __asm__ volatile("");
}

int main(void) {
  const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  action.sa_handler = on_user;
  sigaction(SIGUSR1, &action, NULL);
  const struct itimerval tick = {{0, 4000}, {0, 4000}};
  setitimer(ITIMER_REAL, &tick, NULL);
  puts("ready");
  fflush(stdout);
  for (;;) serve();
}
