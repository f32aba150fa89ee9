// Calls a function of a library, which does not return.
#include <stdio.h>

void spin(void);

int main(void) {
  puts("ready");
  fflush(stdout);
  spin();
}
