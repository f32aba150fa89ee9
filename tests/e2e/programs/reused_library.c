// Compiled twice, to the same layout but with other frames: as -DNAME=first -DWORDS=4, and as
// -DNAME=second -DWORDS=40.
#include <stdint.h>

#define KEPT __attribute__((noinline, noclone))
#define PASTE(a, b) a##b
#define JOINED(a, b) PASTE(a, b)

KEPT uint64_t JOINED(NAME, _leaf)(volatile uint64_t* words, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) words[i % WORDS] += i;
  return words[0];
}

KEPT uint64_t JOINED(NAME, _middle)(uint64_t count) {
  volatile uint64_t words[WORDS] = {0};
  uint64_t sum = JOINED(NAME, _leaf)(words, count);
  for (uint64_t i = 0; i < count; ++i) words[i % WORDS] ^= sum;
  return words[WORDS - 1] + JOINED(NAME, _leaf)(words, count);
}

uint64_t work(uint64_t count) {
  volatile uint64_t words[WORDS / 2] = {0};
  words[1] = JOINED(NAME, _middle)(count);
  return words[1] + JOINED(NAME, _middle)(count);
}
