// A consumer waits, and one function wakes it: of a queue with a condition variable, of a pipe, or
// of a barrier, as the argument says. Of "sleep" a timer wakes it.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int items;
static int ends[2];
static volatile uint64_t sink;
static const char* what;

KEPT static void work(uint64_t rounds) {
  for (uint64_t x = 0; x < rounds; x++) sink += x;
}

KEPT static void takes_item(void) {
  pthread_mutex_lock(&lock);
  while (items == 0) pthread_cond_wait(&filled, &lock);
  items--;
  pthread_mutex_unlock(&lock);
  sink++;
}

KEPT static void puts_item(void) {
  pthread_mutex_lock(&lock);
  items++;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  sink++;
}

KEPT static void reads_byte(void) {
  char byte;
  if (read(ends[0], &byte, 1) == 1) sink++;
}

KEPT static void writes_byte(void) {
  if (write(ends[1], "", 1) == 1) sink++;
}

KEPT static void meets(void) {
  pthread_barrier_wait(&barrier);
  sink++;
}

KEPT static void arrives_last(void) {
  pthread_barrier_wait(&barrier);
  sink += 2;  // so that it is not folded into meets()
}

KEPT static void sleeps(void) {
  const struct timespec pause = {0, 3000000};
  nanosleep(&pause, NULL);
  sink++;
}

static void* consume(void* unused) {
  for (;;) {
    if (strcmp(what, "queue") == 0) takes_item();
    if (strcmp(what, "pipe") == 0) reads_byte();
    if (strcmp(what, "barrier") == 0) meets();
    if (strcmp(what, "sleep") == 0) sleeps();
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  what = argc > 1 ? argv[1] : "queue";
  if (pipe(ends) != 0) return 1;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, consume, NULL);
  puts("ready");
  fflush(stdout);
  for (;;) {
    work(1500000);
    if (strcmp(what, "queue") == 0) puts_item();
    if (strcmp(what, "pipe") == 0) writes_byte();
    if (strcmp(what, "barrier") == 0) arrives_last();
  }
}
