// Moves its own text to anonymous memory at the same addresses, as programs do that want larger
// pages for it (BOLT's --hugify, Chromium, HHVM).
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern char __executable_start, __etext;
volatile long done;

__attribute__((noinline)) void item_done(void) { done++; }

__attribute__((noinline)) void work(void) {
  for (volatile long i = 0; i < 500000; i++) {
  }
}

static void move_text(void) {
  char* text = (char*)((uintptr_t)&move_text & ~4095UL);
  while (text > &__executable_start + 4096) text -= 4096;  // the page after that of the headers
  const size_t size = ((uintptr_t)&__etext - (uintptr_t)text + 4095) & ~4095UL;
  void* copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(copy, text, size);
  mprotect(copy, size, PROT_READ | PROT_EXEC);
  if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, text) != text) abort();
}

int main(void) {
  move_text();
  puts("ready");
  fflush(stdout);
  for (;;) {
    work();
    item_done();
  }
}
