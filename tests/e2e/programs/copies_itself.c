// Copies a function to other memory, and calls the copy, again and again.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) void item_done(volatile long* items) { ++*items; }

int main(void) {
  static volatile long items;
  char* copy =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  puts("ready");
  fflush(stdout);
  for (;;) {
    memcpy(copy, (void*)item_done, 32);
    ((void (*)(volatile long*))copy)(&items);
    for (volatile int i = 0; i < 100000; ++i) continue;
    usleep(1000);
  }
}
