// Does nothing: one thread, blocked until it is told to end.
#include "harness.h"

int main(int argc, char** argv) {
  const struct own_option own[] = {{NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "one blocked thread, no work", own);
  ready();
  wait_for_end();
  return finish();
}
