// Compile it with -fno-ipa-icf, or parse() and reply() may become one function. Rounds of three
// functions, of which one costs TIMES as much as the others. Each round ends with a function that
// an event can count.
#include <stdint.h>
#include <stdio.h>

#ifndef TIMES
#define TIMES 1
#endif
#define KEPT __attribute__((noinline, noclone))

static volatile uint64_t sink;

// Each multiplication needs the result of the one before it, so that the time does not depend on
// where the code stands.
#define MULTIPLY(times)                                                                   \
  do {                                                                                    \
    uint64_t x = sink;                                                                    \
    for (uint64_t i = 0; i < (times)*1500000ULL; i++) x = x * 6364136223846793005ULL + 1; \
    sink = x;                                                                             \
  } while (0)

KEPT static void work(uint64_t times) { MULTIPLY(times); }

KEPT static void parse(void) {
  work(TIMES);
  sink++;
}

KEPT static void reply(void) {
  work(1);
  sink++;
}

KEPT static void store(void) { MULTIPLY(1); }

KEPT static void round_done(void) { sink++; }

int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) {
    parse();
    reply();
    store();
    round_done();
  }
}
