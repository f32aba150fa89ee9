/* Does one kind of work for ever, and counts its pieces in a file that others map:
   counting_loop KIND FILE. A piece takes some 10 microseconds. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t table[1 << 22]; /* more than a core's caches hold */

__attribute__((noinline)) static uint64_t loop(uint64_t x) {
  for (int i = 0; i < 10000; ++i) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
  return x;
}

__attribute__((noinline)) static uint64_t fib(uint64_t n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__attribute__((noinline)) static uint64_t calls(uint64_t x) { return x + fib(15); }

__attribute__((noinline)) static uint64_t memory(uint64_t x) {
  for (int i = 0; i < 500; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL + table[x >> 42];
    ++table[x >> 42];
  }
  return x;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: counting_loop loop|calls|memory FILE\n"), 2;
  uint64_t (*work)(uint64_t) = !strcmp(argv[1], "loop")     ? loop
                               : !strcmp(argv[1], "calls")  ? calls
                               : !strcmp(argv[1], "memory") ? memory
                                                            : 0;
  if (!work) return fprintf(stderr, "counting_loop: no such kind: %s\n", argv[1]), 2;
  const int file = open(argv[2], O_RDWR);
  volatile uint64_t* count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (count == MAP_FAILED) return perror(argv[2]), 1;
  for (uint64_t x = 1;; x = work(x)) ++*count;
}
