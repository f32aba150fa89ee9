// Its main thread ends, after as many seconds as an argument says; another one goes on.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void work(void) {
  for (volatile long i = 0; i < 500000; i++) {
  }
}

static void* loop(void* none) {
  for (;;) work();
  return none;
}

int main(int count, char** arguments) {
  pthread_t thread;
  pthread_create(&thread, NULL, loop, NULL);
  puts("ready");
  fflush(stdout);
  if (count > 1) sleep(atoi(arguments[1]));
  pthread_exit(NULL);
}
