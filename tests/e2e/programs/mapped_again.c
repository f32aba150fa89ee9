// Maps its own file again as data: right below its text, right above it, or in pieces, readable
// or also executable ("xbelow").
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

extern char __executable_start, _end;
volatile long done;

__attribute__((noinline)) void item_done(void) { done++; }

__attribute__((noinline)) void work(void) {
  for (volatile long i = 0; i < 500000; i++) {
  }
}

static void map(int fd, char* at, size_t size, int protection, size_t offset) {
  const int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE;
  if (mmap(at, size, protection, flags, fd, (off_t)offset) != at) abort();
}

int main(int count, char** words) {
  const char* how = count > 1 ? words[1] : "";
  const int fd = open("/proc/self/exe", O_RDONLY);
  struct stat status;
  if (fstat(fd, &status) != 0) abort();
  const size_t size = ((size_t)status.st_size + 4095) & ~4095UL;
  const int protection = PROT_READ | (*how == 'x' ? PROT_EXEC : 0);
  char* low = &__executable_start;
  char* high = (char*)(((uintptr_t)&_end + 4095) & ~4095UL);
  if (strstr(how, "below")) map(fd, low - size, size, protection, 0);
  if (strstr(how, "above")) map(fd, high, size, protection, 0);
  for (size_t at = 0; strstr(how, "pieces") && at < size; at += 8192) {
    map(fd, low - size + at, 4096, protection, at);
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    work();
    item_done();
  }
}
