// Routines whose input sizes are known: `analytic MODE N` runs those of one mode. Cells have four
// bytes. Each expected size is derived beside its routine; rms = trms where only one is given, and
// what is external or thread input is said.
//
// No routine is inlined or specialised (MEASURED). System calls are made here, because those of the
// C library read memory of their own (whether there are several threads). A routine gets what it
// needs in registers, and what it stores on the stack it has written itself: neither is input.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEASURED __attribute__((noipa))

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return number;
}

// The byte is written before the kernel reads it, so that it is no input.
static inline __attribute__((always_inline)) void signal_other(int to) {
  char byte = 0;
  __asm__ volatile("" : "+m"(byte));
  system_call(SYS_write, to, (long)&byte, 1, 0, 0, 0);
}

// The kernel writes the byte, and nobody reads it: no input.
static inline __attribute__((always_inline)) void wait_for_other(int from) {
  char byte;
  system_call(SYS_read, from, (long)&byte, 1, 0, 0, 0);
}

// n cells.
MEASURED long sum(const int* items, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) total += items[i];
  return total;
}

// n cells: the second pass reads nothing new.
MEASURED long sum_twice(const int* items, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) total += items[i];
  for (long i = 0; i < n; i++) total ^= items[i];
  return total;
}

// n cells: those that are written, and read only after that, are no input.
MEASURED long copy_and_sum(int* to, const int* from, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) to[i] = from[i];
  for (long i = 0; i < n; i++) total += ((volatile int*)to)[i];
  return total;
}

struct node {
  struct node* next;  // 2 cells
  int value;          // 1 cell
  int unused;
};

// 3 n cells.
MEASURED long walk(const struct node* node) {
  long total = 0;
  for (; node != NULL; node = node->next) total += node->value;
  return total;
}

// n cells for n >= 2, and none otherwise: the partition reads each item before it writes it.
MEASURED void quicksort(int* items, long n) {
  if (n < 2) return;
  const int pivot = items[n - 1];
  long small = 0;
  for (long i = 0; i < n - 1; i++) {
    const int item = items[i];
    if (item >= pivot) continue;
    items[i] = items[small];
    items[small++] = item;
  }
  items[n - 1] = items[small];
  items[small] = pivot;
  quicksort(items, small);
  quicksort(items + small + 1, n - small - 1);
}

// 2 (n - 1) cells where nothing is known yet: it reads the entries 2 … n, of two cells each, before
// it writes them. 2 cells where the result is known, and none for n < 2.
MEASURED long fibonacci(long* known, long n) {
  if (n < 2) return n;
  if (known[n] == 0) known[n] = fibonacci(known, n - 1) + fibonacci(known, n - 2);
  return known[n];
}

// 4 n² cells: two matrices of n² numbers of two cells. The result is only written. About n³ blocks.
MEASURED void multiply(double* to, const double* left, const double* right, long n) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) {
      double total = 0;
      for (long k = 0; k < n; k++) total += left[i * n + k] * right[k * n + j];
      to[i * n + j] = total;
    }
  }
}

// rms 1, trms n, external n (paper, Fig. 3): the second number of each pair is never read.
MEASURED int consume(const int* item) { return *item; }
MEASURED long external_read(int from, long n) {
  int pair[2];
  long total = 0;
  for (long i = 0; i < n; i++) {
    system_call(SYS_read, from, (long)pair, sizeof(pair), 0, 0, 0);
    total += consume(pair);
  }
  return total;
}

// rms min(n, 1024), trms n, external n: each piece comes into the same buffer.
MEASURED long buffered_read(int from) {
  int buffer[1024];
  long total = 0;
  for (;;) {
    const long bytes = system_call(SYS_read, from, (long)buffer, sizeof(buffer), 0, 0, 0);
    if (bytes <= 0) return total;
    for (long i = 0; i < bytes / 4; i++) total += ((volatile int*)buffer)[i];
  }
}

// n cells, external n.
MEASURED long mapped_read(int from, long n) {
  const long place = system_call(SYS_mmap, 0, 4 * n, PROT_READ, MAP_PRIVATE, from, 0);
  return sum((const int*)place, n);
}

// 6 cells: the three registers that it restores, which `with_jump` has stored.
MEASURED void jump_back(void** place) { __builtin_longjmp(place, 1); }
// n + 6 cells, and none of what is read after the jump.
MEASURED long read_and_jump(void** place, const int* items, long n) {
  const long total = sum(items, n);
  jump_back(place);
  return total;
}
// n + 2 n cells. It is left as usual.
MEASURED long with_jump(const int* items, long n) {
  void* place[5];
  if (__builtin_setjmp(place) == 0) read_and_jump(place, items, n);
  return sum(items + n, 2 * n);
}

// n cells. It jumps to `sum`, which has n cells, too.
__attribute__((noipa, optimize("optimize-sibling-calls"))) long tail(const int* items, long n) {
  return sum(items, n);
}

struct shared {
  int to_other[2], to_main[2];
  long n;
  int* items;
  int x;
};

static void* write_x(void* given) {
  struct shared* shared = given;
  for (long i = 0; i < shared->n; i++) {
    wait_for_other(shared->to_other[0]);
    shared->x = (int)i;
    signal_other(shared->to_main[1]);
  }
  return NULL;
}

// rms 1, trms 2, thread 1 (Fig. 1a).
MEASURED int figure_1a(volatile int* x, int to, int from) {
  const int before = *x;
  signal_other(to);
  wait_for_other(from);
  return before + *x;
}

// h: rms 1, trms 1, thread 1. f: rms 1, trms 2, thread 1 (Fig. 1b).
MEASURED int figure_1b_h(volatile int* x) { return *x; }
MEASURED int figure_1b(volatile int* x, int to, int from) {
  const int before = *x;
  signal_other(to);
  wait_for_other(from);
  return before + figure_1b_h(x) + *x;
}

// rms 1, trms n, thread n (Fig. 2).
MEASURED long consumer(const int* x, int to, int from, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) {
    signal_other(to);
    wait_for_other(from);
    total += consume(x);
  }
  return total;
}

// n cells: thread n, if they were written after the thread's start, and otherwise none (but with
// --aprof-compatible).
static void* sum_late(void* given) {
  struct shared* shared = given;
  wait_for_other(shared->to_other[0]);
  return (void*)sum(shared->items, shared->n);
}
static void* sum_early(void* given) {
  struct shared* shared = given;
  return (void*)sum_twice(shared->items, shared->n);
}

static int* new_items(long n) {
  int* items = malloc((size_t)n * sizeof(int));
  unsigned value = 1;
  for (long i = 0; i < n; i++) items[i] = (int)((value = value * 1103515245 + 12345) >> 8);
  return items;
}

static int file_of(long n) {
  const int file = (int)syscall(SYS_memfd_create, "analytic", 0);
  int* items = new_items(n);
  if (write(file, items, (size_t)n * 4) != n * 4 || lseek(file, 0, SEEK_SET) != 0) abort();
  return file;
}

static long run_alone(const char* mode, long n) {
  int* items = new_items(3 * n);
  if (strcmp(mode, "sum") == 0) return sum(items, n);
  if (strcmp(mode, "twice") == 0) return sum_twice(items, n);
  if (strcmp(mode, "copy") == 0) return copy_and_sum(items + n, items, n);
  if (strcmp(mode, "sort") == 0) return quicksort(items, n), items[0];
  if (strcmp(mode, "memo") == 0) return fibonacci(calloc((size_t)n + 1, sizeof(long)), n);
  if (strcmp(mode, "jump") == 0) return with_jump(items, n) + with_jump(items, n);
  if (strcmp(mode, "tail") == 0) return tail(items, n);
  if (strcmp(mode, "external") == 0) return external_read(file_of(2 * n), n);
  if (strcmp(mode, "buffered") == 0) return buffered_read(file_of(n));
  if (strcmp(mode, "mapped") == 0) return mapped_read(file_of(n), n);
  if (strcmp(mode, "matrix") == 0) {
    double* numbers = calloc((size_t)(3 * n * n), sizeof(double));
    multiply(numbers, numbers + n * n, numbers + 2 * n * n, n);
    return (long)numbers[0];
  }
  if (strcmp(mode, "list") == 0) {
    struct node* nodes = calloc((size_t)n, sizeof(struct node));
    for (long i = 0; i + 1 < n; i++) nodes[i].next = &nodes[i + 1];
    return walk(nodes);
  }
  return -1;
}

static long run_threads(const char* mode, long n) {
  struct shared shared = {.n = n, .items = new_items(n)};
  if (pipe(shared.to_other) != 0 || pipe(shared.to_main) != 0) abort();
  const int to = shared.to_other[1];
  const int from = shared.to_main[0];
  pthread_t other;
  long total = 0;
  if (strcmp(mode, "late") == 0) {
    pthread_create(&other, NULL, sum_late, &shared);
    for (long i = 0; i < n; i++) shared.items[i] = (int)i;
    signal_other(to);
  } else if (strcmp(mode, "early") == 0) {
    pthread_create(&other, NULL, sum_early, &shared);
  } else {
    if (mode[0] == '1') shared.n = 1;
    pthread_create(&other, NULL, write_x, &shared);
    if (strcmp(mode, "1a") == 0) total = figure_1a(&shared.x, to, from);
    if (strcmp(mode, "1b") == 0) total = figure_1b(&shared.x, to, from);
    if (strcmp(mode, "2") == 0) total = consumer(&shared.x, to, from, n);
  }
  pthread_join(other, NULL);
  return total;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long n = atol(argv[2]);
  const char* const with_threads[] = {"1a", "1b", "2", "late", "early"};
  for (size_t i = 0; i < sizeof(with_threads) / sizeof(*with_threads); i++) {
    if (strcmp(argv[1], with_threads[i]) == 0) return printf("%ld\n", run_threads(argv[1], n)) < 0;
  }
  return printf("%ld\n", run_alone(argv[1], n)) < 0;
}
