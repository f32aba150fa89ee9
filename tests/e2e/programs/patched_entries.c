// Its functions step1 to step5 are patched in memory: each jumps to another one, whose entry is
// not at the place that the file says.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile long calls, never;

#define STEP(i)                                               \
  __attribute__((noinline)) void new##i(void) { calls += i; } \
  __attribute__((noinline, patchable_function_entry(5, 0))) void step##i(void) { never += i; }
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)

static void patch(char* entry, char* target) {
  char* page = (char*)((unsigned long)entry & ~4095UL);
  const int distance = (int)(target - (entry + 5));
  mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  entry[0] = (char)0xe9;
  memcpy(entry + 1, &distance, sizeof distance);
  mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

static __attribute__((noinline)) void work(void) {
  for (volatile int i = 0; i < 100000; ++i) continue;
}

int main(void) {
  patch((char*)step1, (char*)new1);
  patch((char*)step2, (char*)new2);
  patch((char*)step3, (char*)new3);
  patch((char*)step4, (char*)new4);
  patch((char*)step5, (char*)new5);
  puts("ready");
  fflush(stdout);
  for (;;) {
    work();
    step1();
    step2();
    step3();
    step4();
    step5();
    usleep(1000);
  }
}
