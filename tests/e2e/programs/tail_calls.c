// The program of csprof's Figure 1 with its tail calls: a() calls c() and jumps to it, b() calls it
// twice and jumps. With an argument, other calls, which end in c() or d() too:
//   chain       e() jumps to f(), which jumps to d()
//   ambiguous   g() jumps to h() or i(), which both jump to d()
//   pointer     j() jumps to d() by a pointer
//   parts       k() has a part of its own elsewhere (.cold), in which it calls d()
//   all         each of them in turn
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile uint64_t sink;
static volatile int one = 1;

KEPT static void c(uint64_t work) {
  for (uint64_t x = 0; x < work; x++) sink += x;
}

KEPT static void d(uint64_t work) {
  for (uint64_t x = 0; x < work; x++) sink -= x;
}

static void (*volatile by_pointer)(uint64_t) = d;

KEPT static void a(void) {
  c(40000);
  c(40000);
}

KEPT static void b(void) {
  c(20000);
  c(20000);
  c(40000);
}

KEPT static void f(uint64_t work) {
  sink++;
  d(work + 1);
}

KEPT static void e(void) {
  sink++;
  f(40000);
}

KEPT static void h(uint64_t work) {
  sink++;
  d(work + 2);
}

KEPT static void i(uint64_t work) {
  sink++;
  d(work + 3);
}

KEPT static void g(int which) {
  if (which) {
    h(40000);
  } else {
    i(40000);
  }
}

KEPT static void j(void) {
  sink++;
  by_pointer(40000);
}

KEPT __attribute__((cold)) static void rare(uint64_t work) {
  d(work);
  sink++;
}

KEPT static uint64_t k(int which) {
  uint64_t before = sink;
  if (__builtin_expect(which, 0)) {
    rare(40000);
    before += 2;
  }
  return before + sink;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "figure";
  const int all = strcmp(way, "all") == 0;
  const int figure = strcmp(way, "figure") == 0;
  const int chain = all || strcmp(way, "chain") == 0;
  const int ambiguous = all || strcmp(way, "ambiguous") == 0;
  const int pointer = all || strcmp(way, "pointer") == 0;
  const int parts = all || strcmp(way, "parts") == 0;
  puts("ready");
  fflush(stdout);
  for (int round = 0;; round++) {
    if (figure || all) {
      a();
      b();
    }
    if (chain) e();
    if (ambiguous) g(round % 2);
    if (pointer) j();
    if (parts) sink = k(one);
  }
}
