// Calls item_done() by a pointer and, where the compiler inlines it, directly.
#include <stdio.h>

volatile long done;

void item_done(void) { done++; }

void (*volatile indirect)(void) = item_done;

int main(void) {
  puts("ready");
  fflush(stdout);
  for (long n = 1;; ++n) {
    for (volatile long i = 0; i < 500000; ++i) {
    }
    if (n % 10 == 0) {
      indirect();
    } else {
      item_done();
    }
  }
}
