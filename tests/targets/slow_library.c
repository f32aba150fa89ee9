// A library whose constructor takes its time: the program that has it is not at its entry point for
// so long. Nobody waits for its end.
#include <time.h>

int loaded;  // what the program needs of it

__attribute__((constructor)) static void take_time(void) {
  const struct timespec time = {30, 0};
  nanosleep(&time, NULL);
  loaded = 1;
}
