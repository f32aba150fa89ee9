// A program that knows its own symbols: prints the address and line of each MARK and the entry of
// each function below, then "ready", then obeys lines on its standard input:
//   open PATH   dlopen; prints "opened ADDRESS" of its function plugin_work
//   close       dlclose; prints "closed"
//   sort        calls qsort, whose comparison spins for ever; prints "sorting" from within it
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "symbols_inline.h"
#include "symbols_mark.h"

extern "C" {
extern const Mark __start_symbols_marks[];
extern const Mark __stop_symbols_marks[];

__attribute__((noinline)) int original(int value) {
  MARK(3);
  return value + 11;
}
int aliased(int value) __attribute__((alias("original"), nothrow));
}

namespace symbols {

volatile int sink;

__attribute__((noinline)) int overloaded(int value) {
  MARK(4);
  return value * 3;
}
__attribute__((noinline)) int overloaded(double value) { return static_cast<int>(value) * 5; }

template <typename Number>
__attribute__((noinline)) Number templated(Number value) {
  return value * value;
}

struct Worker {
  __attribute__((noinline)) int work(int value) const { return value - 17; }
};

// Two inlined copies of the same line of symbols_inline.h.
__attribute__((noinline)) int outer(int value) {
  const int first = middle(value);
  sink = first;
  const int second = middle(value + first);
  return first ^ second;
}

// One line, several copies of it in one function, none of them inlined.
__attribute__((noinline)) int unrolled(int value) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    sink = sink + value;
    MARK(6);
    sink = sink ^ i;
  }
  return sink;
}

__attribute__((always_inline)) inline int tripled(int value) {
  sink = value;
  return value * 3;
}

// One line, one execution of it, though it is several statements with an inlined call among them.
#define SEVERAL_STATEMENTS \
  do {                     \
    sink = sink + 5;       \
    sink = tripled(sink);  \
    sink = sink ^ 3;       \
  } while (0)

__attribute__((noinline)) int several_statements(int value) {
  sink = value;
  MARK(7);
  SEVERAL_STATEMENTS;
  return sink;
}

}  // namespace symbols

// gcc makes cloned.constprop.0 of it, as the second argument is always 9.
static __attribute__((noinline)) int cloned(int value, int constant) {
  MARK(5);
  for (int i = 0; i < constant; ++i) symbols::sink = value * i + constant;
  return symbols::sink;
}

extern "C" __attribute__((noinline)) int spinning_compare(const void*, const void*) {
  std::puts("sorting");
  std::fflush(stdout);
  for (;;) symbols::sink = symbols::sink + 1;
}

extern "C" __attribute__((noinline)) void sort_caller() {
  int numbers[8] = {8, 7, 6, 5, 4, 3, 2, 1};
  std::qsort(numbers, 8, sizeof numbers[0], spinning_compare);
  symbols::sink = numbers[0];
}

static void print_entry(const char* name, const void* function) {
  std::printf("entry %s %lx\n", name, reinterpret_cast<unsigned long>(function));
}

// The entry of the procedure linkage table that calls of qsort go through.
static const void* linkage_of_qsort() {
  const void* entry = nullptr;
  asm("lea qsort@plt(%%rip), %0" : "=r"(entry));
  return entry;
}

static void obey(char* line) {
  static void* plugin;
  line[std::strcspn(line, "\n")] = 0;
  if (std::strncmp(line, "open ", 5) == 0) {
    plugin = dlopen(line + 5, RTLD_NOW);
    if (plugin == nullptr) {
      std::printf("error %s\n", dlerror());
    } else {
      std::printf("opened %lx\n", reinterpret_cast<unsigned long>(dlsym(plugin, "plugin_work")));
    }
  } else if (std::strcmp(line, "close") == 0) {
    if (plugin != nullptr) dlclose(plugin);
    std::puts("closed");
  } else if (std::strcmp(line, "sort") == 0) {
    sort_caller();
  }
  std::fflush(stdout);
}

int main() {
  using namespace symbols;
  sink = outer(sink) + original(sink) + aliased(sink) + overloaded(sink) + overloaded(2.5) +
         templated(sink) + Worker().work(sink) + cloned(sink, 9) + unrolled(sink) +
         several_statements(sink);
  for (const Mark* mark = __start_symbols_marks; mark < __stop_symbols_marks; ++mark) {
    std::printf("mark %lu %lx %lu\n", mark->id, mark->address, mark->line);
  }
  print_entry("original", reinterpret_cast<const void*>(original));
  print_entry("outer", reinterpret_cast<const void*>(outer));
  print_entry("overloaded_int",
              reinterpret_cast<const void*>(static_cast<int (*)(int)>(overloaded)));
  print_entry("templated", reinterpret_cast<const void*>(templated<int>));
  print_entry("spinning_compare", reinterpret_cast<const void*>(spinning_compare));
  print_entry("sort_caller", reinterpret_cast<const void*>(sort_caller));
  print_entry("qsort@plt", linkage_of_qsort());
  std::puts("ready");
  std::fflush(stdout);
  char line[4096];
  while (std::fgets(line, sizeof line, stdin) != nullptr) obey(line);
}
