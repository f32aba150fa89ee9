// Two instances of a template whose names differ in the middle of a long argument.
#include <cstdio>

struct RequestHandlerForTheFrontendOfShopA {};
struct RequestHandlerForTheFrontendOfShopB {};

template <class Key, class Value>
struct Map {};

volatile unsigned long sum;

template <class T>
__attribute__((noinline)) void process(Map<unsigned long, T>* handlers, long rounds) {
  for (long i = 0; i < rounds; ++i) sum = sum + static_cast<unsigned long>(i);
  asm volatile("" ::"r"(handlers));
}

int main() {
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    process<RequestHandlerForTheFrontendOfShopA>(nullptr, 200000);
    process<RequestHandlerForTheFrontendOfShopB>(nullptr, 100000);
  }
}
