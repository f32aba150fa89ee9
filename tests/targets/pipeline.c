// A producer (2 ms of work an item) and a consumer (4 ms) joined by a queue of 8, through three
// kinds of blocking. The consumer is the bottleneck: speeding it up by s gains s until it is as
// fast as the producer (50 %); the producer gains nothing.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

enum { kCapacity = 8, kPage = 4096 };

static double producer_ms = 2;
static double consumer_ms = 4;
static double producer_factor = 1;
static double consumer_factor = 1;
static const char* via = "mutex";

static uint64_t producer_iterations;
static uint64_t consumer_iterations;
static _Atomic uint64_t wrong_items;
static _Atomic uint64_t interrupted;

static NOINLINE void producer_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void consumer_work(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void item_done(void) { count_round(); }

// A queue of items (their numbers; 0 ends) for one producer and one consumer.
struct queue {
  void (*put)(uint64_t item);
  uint64_t (*get)(void);
};

static uint64_t ring[kCapacity];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static unsigned ring_length;
static unsigned ring_begin;

static void put_mutex(uint64_t item) {
  pthread_mutex_lock(&mutex);
  while (ring_length == kCapacity) pthread_cond_wait(&not_full, &mutex);
  ring[(ring_begin + ring_length++) % kCapacity] = item;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&mutex);
}

static uint64_t get_mutex(void) {
  pthread_mutex_lock(&mutex);
  while (ring_length == 0) pthread_cond_wait(&not_empty, &mutex);
  const uint64_t item = ring[ring_begin];
  ring_begin = (ring_begin + 1) % kCapacity;
  ring_length--;
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&mutex);
  return item;
}

// Two counters that only grow; each side sleeps on the other's.
static _Atomic uint32_t produced;
static _Atomic uint32_t consumed;

static void futex_wait(_Atomic uint32_t* word, uint32_t value) {
  if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0) != 0 && errno == EINTR) {
    atomic_fetch_add(&interrupted, 1);
  }
}

static void futex_wake(_Atomic uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void put_futex(uint64_t item) {
  const uint32_t position = atomic_load(&produced);
  uint32_t seen = atomic_load(&consumed);
  while (position - seen == kCapacity) {
    futex_wait(&consumed, seen);
    seen = atomic_load(&consumed);
  }
  ring[position % kCapacity] = item;
  atomic_store(&produced, position + 1);
  futex_wake(&produced);
}

static uint64_t get_futex(void) {
  const uint32_t position = atomic_load(&consumed);
  while (atomic_load(&produced) == position) futex_wait(&produced, position);
  const uint64_t item = ring[position % kCapacity];
  atomic_store(&consumed, position + 1);
  futex_wake(&consumed);
  return item;
}

// An item fills a page, and the pipe has eight: a queue of exactly eight.
static int pipe_fds[2];

static void put_pipe(uint64_t item) {
  static char page[kPage];
  memcpy(page, &item, sizeof(item));
  size_t done = 0;
  while (done < kPage) {
    const ssize_t part = write(pipe_fds[1], page + done, kPage - done);
    if (part < 0 && errno != EINTR) die("write");
    if (part < 0) atomic_fetch_add(&interrupted, 1);
    if (part > 0) done += (size_t)part;
  }
}

static uint64_t get_pipe(void) {
  static char page[kPage];
  size_t done = 0;
  while (done < kPage) {
    const ssize_t part = read(pipe_fds[0], page + done, kPage - done);
    if (part < 0 && errno != EINTR) die("read");
    if (part < 0) atomic_fetch_add(&interrupted, 1);
    if (part > 0) done += (size_t)part;
  }
  uint64_t item = 0;
  memcpy(&item, page, sizeof(item));
  return item;
}

static struct queue choose_queue(void) {
  if (strcmp(via, "mutex") == 0) return (struct queue){put_mutex, get_mutex};
  if (strcmp(via, "futex") == 0) return (struct queue){put_futex, get_futex};
  if (strcmp(via, "pipe") != 0) {
    fprintf(stderr, "--via: mutex, futex or pipe\n");
    exit(2);
  }
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) die("pipe2");
  if (fcntl(pipe_fds[1], F_SETPIPE_SZ, kCapacity * kPage) < 0) die("F_SETPIPE_SZ");
  return (struct queue){put_pipe, get_pipe};
}

static void* produce(void* argument) {
  const struct queue* queue = argument;
  for (uint64_t item = 1; !stopping(); item++) {
    producer_work(producer_iterations);
    queue->put(item);
  }
  queue->put(0);
  return NULL;
}

static void* consume(void* argument) {
  const struct queue* queue = argument;
  for (uint64_t expected = 1;; expected++) {
    const uint64_t item = queue->get();
    if (item == 0) return NULL;
    if (item != expected) atomic_fetch_add(&wrong_items, 1);
    consumer_work(consumer_iterations);
    item_done();
  }
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--via", NULL, &via, "mutex, futex or pipe (mutex)"},
      {"--producer-ms", &producer_ms, NULL, "work of the producer for an item (2)"},
      {"--consumer-ms", &consumer_ms, NULL, "work of the consumer for an item (4)"},
      {"--producer-factor", &producer_factor, NULL, "multiplies the producer's work (twin)"},
      {"--consumer-factor", &consumer_factor, NULL, "multiplies the consumer's work (twin)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "producer and consumer with a bounded queue; point: item_done", own);
  struct queue queue = choose_queue();
  producer_iterations =
      (uint64_t)(calibrate("producer", producer_work) * producer_ms * producer_factor);
  consumer_iterations =
      (uint64_t)(calibrate("consumer", consumer_work) * consumer_ms * consumer_factor);
  ready();
  pthread_t producer;
  pthread_t consumer;
  if (pthread_create(&producer, NULL, produce, &queue) != 0) die("pthread_create");
  if (pthread_create(&consumer, NULL, consume, &queue) != 0) die("pthread_create");
  wait_for_end();
  pthread_join(producer, NULL);
  pthread_join(consumer, NULL);
  printf("wrong_items %llu\n", (unsigned long long)wrong_items);
  printf("interrupted %llu\n", (unsigned long long)interrupted);
  return finish();
}
