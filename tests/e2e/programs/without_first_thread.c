// Its main thread ends, another one goes on.
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) void work(void) {
  for (volatile long i = 0; i < 500000; i++) {
  }
}

static void* loop(void* none) {
  for (;;) work();
  return none;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, loop, NULL);
  puts("ready");
  fflush(stdout);
  pthread_exit(NULL);
}
