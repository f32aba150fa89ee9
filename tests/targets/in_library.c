// A thread that spends nearly all of its time in the C library, in a function that keeps no frame
// pointer: whose line it is, only unwinding through the library tells.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { kTextSize = 64 * 1024 };

static char* text;
static uint64_t scans;

static NOINLINE size_t scan(uint64_t times) {
  size_t length = 0;
  for (uint64_t i = 0; i < times; i++) {
    __asm__ volatile("" : : "r"(text) : "memory");  // or it would be measured only once
    length += strlen(text);                         // here it spends its time
  }
  return length;
}

static void scan_for_calibration(uint64_t times) { (void)scan(times); }

static NOINLINE void round_done(void) { count_round(); }

static void* run(void* unused) {
  while (!stopping()) {
    if (scan(scans) != scans * (kTextSize - 1)) die("strlen");
    round_done();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "a thread in strlen(); point: round_done", own);
  text = malloc(kTextSize);
  if (text == NULL) die("malloc");
  memset(text, 'x', kTextSize);
  text[kTextSize - 1] = '\0';
  scans = (uint64_t)(calibrate("scan", scan_for_calibration) * 5);
  ready();
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) die("pthread_create");
  wait_for_end();
  pthread_join(thread, NULL);
  free(text);
  return finish();
}
