// main() of a program with two static functions of one name (names_static.c, compiled in two
// folders) and two libraries of one name, each with its own work(). Says "ready" when all is
// loaded.
#include <dlfcn.h>
#include <stdio.h>

void in_first(long rounds);
void in_second(long rounds);

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void (*work[2])(long);
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(arguments[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 3;
    work[i] = (void (*)(long))dlsym(library, "work");
    if (work[i] == NULL) return 4;
  }
  puts("ready");
  fflush(stdout);
  while (1) {
    in_first(300000);
    in_second(100000);
    work[0](200000);
    work[1](100000);
  }
}
