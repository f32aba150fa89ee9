// What happens on the path through much() happens three times as much as through little(): it
// touches fresh pages, writes bytes, or allocates memory, as the first argument says. The second
// one is the pause between two rounds in microseconds.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

enum { page = 4096, pages = 64 };

static const char* what;
static int file;
static volatile unsigned long sink;

KEPT static void touches(unsigned long count) {
  char* memory =
      mmap(NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, count * page, MADV_NOHUGEPAGE);
  for (unsigned long i = 0; i < count; i++) memory[i * page] = 1;
  munmap(memory, count * page);
  sink++;
}

KEPT static void writes(unsigned long count) {
  static char text[3000];
  if (write(file, text, count) < 0) abort();
  sink++;
}

KEPT static void allocates(unsigned long count) {
  void* volatile memory = malloc(count);
  free(memory);
  sink++;
}

KEPT static void work(unsigned long share) {
  if (strcmp(what, "pages") == 0) touches(share * pages);
  if (strcmp(what, "writes") == 0) writes(share * 1000);
  if (strcmp(what, "mallocs") == 0) allocates(share * 1000);
  sink++;
}

KEPT static void little(void) {
  work(1);
  sink++;
}

KEPT static void much(void) {
  work(3);
  sink++;
}

int main(int argc, char** argv) {
  what = argv[1];
  const struct timespec pause = {0, argc > 2 ? atol(argv[2]) * 1000 : 0};
  file = open("/dev/null", O_WRONLY);
  puts("ready");
  fflush(stdout);
  for (;;) {
    little();
    much();
    if (pause.tv_nsec > 0) nanosleep(&pause, NULL);
  }
}
