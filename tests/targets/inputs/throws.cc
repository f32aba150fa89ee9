// Exceptions: `throws N`. Activations that an exception has left do not get what is read after it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MEASURED __attribute__((noipa))

// n cells.
MEASURED long sum(const int* items, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) total += items[i];
  return total;
}

MEASURED void throw_it(long value) { throw value; }

// What the C++ library reads to throw, less than 30,000 cells, and nothing of the items.
MEASURED void pass_on(long value) {
  throw_it(value);
  std::puts("never");
}

// The same, and n cells of the items. It is left as usual.
MEASURED long catch_it(const int* items, long n) {
  try {
    pass_on(n);
  } catch (long value) {
    return sum(items, value);
  }
  return 0;
}

int main(int, char** argv) {
  const long n = std::atol(argv[1]);
  const std::vector<int> items(static_cast<std::size_t>(n), 1);
  const long total = catch_it(items.data(), n) + catch_it(items.data(), n);
  std::printf("%ld\n", total);
  return total == 2 * n ? 0 : 1;
}
