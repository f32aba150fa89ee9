// A library with a slow constructor: it keeps the program that has it from its entry point. No
// process waits for its end.
#include <time.h>

int loaded;  // what the program needs of it

__attribute__((constructor)) static void take_time(void) {
  const struct timespec time = {30, 0};
  nanosleep(&time, NULL);
  loaded = 1;
}
