// Works and waits in the kernel by functions whose names are known: reads of /dev/zero, and sleep.
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static char buffer[1 << 20];
static volatile long sum;

KEPT static void reads_zeros(int zeros) {
  for (int i = 0; i < 100; i++) sum += read(zeros, buffer, sizeof buffer);
}

KEPT static void sleeps(void) {
  const struct timespec pause = {0, 3000000};
  nanosleep(&pause, NULL);
  sum++;
}

int main(void) {
  const int zeros = open("/dev/zero", O_RDONLY);
  puts("ready");
  fflush(stdout);
  while (1) {
    reads_zeros(zeros);
    sleeps();
  }
}
