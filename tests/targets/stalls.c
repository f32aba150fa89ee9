// Functions that wait for one known cause each, in three sizes: what `causalctl calc` must name
// (scripts/culprits). `stalls CAUSE_SIZE [CALLS]` calls stall_CAUSE_SIZE() so often, or until it is
// ended.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))
enum { kPage = 4096, kLine = 64 };

static char* memory;  // of kMemory bytes, in pages of 4 KiB
static const size_t kMemory = (size_t)256 << 20;
static void* start;  // of a chain of pointers

static uint64_t next_random(uint64_t at) {
  return at * 6364136223846793005u + 1442695040888963407u;
}

// Links `count` places, which `place` tells by their number, in a random order, as one ring.
static void link_places(size_t count, size_t (*place)(size_t)) {
  size_t* order = malloc(count * sizeof(*order));
  if (!order) abort();
  for (size_t i = 0; i < count; i++) order[i] = i;
  uint64_t random = 1;
  for (size_t i = count - 1; i > 0; i--) {
    random = next_random(random);
    const size_t other = (random >> 33) % (i + 1);
    const size_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (size_t i = 0; i < count; i++) {
    void* next = memory + place(order[(i + 1) % count]);
    memcpy(memory + place(order[i]), &next, sizeof next);
  }
  start = memory + place(order[0]);
  free(order);
}

static size_t line_of(size_t number) { return number * kLine; }
// A line of each page, another one of the next page, so that they do not compete for the same sets.
static size_t page_of(size_t number) { return number * kPage + number % (kPage / kLine) * kLine; }

// Each load waits for the one before.
#define CHASE(name)                                                          \
  NOINLINE void name(uint64_t times) {                                       \
    void* at = start;                                                        \
    __asm__ volatile("1: mov (%0), %0\n add $1, %%rdx\n sub $1, %1\n jnz 1b" \
                     : "+r"(at), "+r"(times)                                 \
                     :                                                       \
                     : "rdx", "memory");                                     \
    start = at;                                                              \
  }
CHASE(stall_cache_1)
CHASE(stall_cache_2)
CHASE(stall_cache_3)
CHASE(stall_pages_1)
CHASE(stall_pages_2)
CHASE(stall_pages_3)

// Blocks of a line each, of which each jumps to another one: all in turn, in an order that no
// prefetcher knows.
#define CODE(name, blocks)                                                               \
  NOINLINE void name(uint64_t times) {                                                   \
    for (; times > 0; times--) {                                                         \
      __asm__ volatile(                                                                  \
          ".balign 64\n" #name "_code:\n .set number, 0\n .rept " #blocks                \
          "\n .balign 64\n add $1, %%rax\n .set next, (number * 1021 + 401) %% " #blocks \
          "\n .if next\n .byte 0xe9\n .long " #name                                      \
          "_code - . - 4 + next * 64\n .else\n"                                          \
          " jmp 2f\n .endif\n .set number, number + 1\n .endr\n 2:"                      \
          :                                                                              \
          :                                                                              \
          : "rax");                                                                      \
    }                                                                                    \
  }
CODE(stall_code_1, 2048)
CODE(stall_code_2, 8192)
CODE(stall_code_3, 32768)

// A branch that is taken for `limit` of 256 random numbers.
#define BRANCH(name, limit)                                                                \
  NOINLINE void name(uint64_t times) {                                                     \
    __asm__ volatile(                                                                      \
        "1: imul %[a], %%rax\n add %[c], %%rax\n mov %%rax, %%rdx\n shr $56, %%rdx\n"      \
        "cmp $" #limit ", %%edx\n jb 2f\n add $1, %%rcx\n 2: sub $1, %0\n jnz 1b"          \
        : "+r"(times)                                                                      \
        : [a] "r"((uint64_t)6364136223846793005u), [c] "r"((uint64_t)1442695040888963407u) \
        : "rax", "rcx", "rdx", "cc");                                                      \
  }
BRANCH(stall_branch_1, 26)
BRANCH(stall_branch_2, 64)
BRANCH(stall_branch_3, 128)

// Stores to random lines.
#define STORE(name, mask)                                                                   \
  NOINLINE void name(uint64_t times) {                                                      \
    __asm__ volatile(                                                                       \
        "mov $1, %%eax\n 1: imul %[a], %%rax\n add %[c], %%rax\n mov %%rax, %%rdx\n"        \
        "shr $20, %%rdx\n and $" #mask                                                      \
        ", %%edx\n mov %%rax, (%[m], %%rdx)\n"                                              \
        "sub $1, %0\n jnz 1b"                                                               \
        : "+r"(times)                                                                       \
        : [a] "r"((uint64_t)6364136223846793005u), [c] "r"((uint64_t)1442695040888963407u), \
          [m] "r"(memory)                                                                   \
        : "rax", "rdx", "memory");                                                          \
  }
STORE(stall_stores_1, 0x7fffc0)
STORE(stall_stores_2, 0x1ffffc0)
STORE(stall_stores_3, 0xfffffc0)

// A load of bytes that a narrower store has just changed.
#define FORWARD(name, store)                                                                     \
  NOINLINE void name(uint64_t times) {                                                           \
    char room[16] = "";                                                                          \
    __asm__ volatile("1: " store "\n mov (%[m]), %%rdx\n add %%rdx, %%rax\n sub $1, %0\n jnz 1b" \
                     : "+r"(times)                                                               \
                     : [m] "r"(room)                                                             \
                     : "rax", "rdx", "memory");                                                  \
  }
FORWARD(stall_forward_1, "movb %%al, 2(%[m])")
FORWARD(stall_forward_2, "movw %%ax, 4(%[m])")
FORWARD(stall_forward_3, "movl %%eax, (%[m])")

#define LOOP(name, code, ...)                                             \
  NOINLINE void name(uint64_t times) {                                    \
    __asm__ volatile("1: " code "\n add $1, %%r8\n sub $1, %[n]\n jnz 1b" \
                     : [n] "+r"(times)                                    \
                     : [m] "r"(memory)                                    \
                     : __VA_ARGS__, "r8", "cc", "memory");                \
  }
LOOP(stall_divide_1, "mov $0, %%edx\n or $9, %%eax\n mov $3, %%ecx\n div %%ecx", "rax", "rcx",
     "rdx")
LOOP(stall_divide_2, "mov $9, %%edx\n mov $77, %%eax\n mov $113, %%ecx\n div %%rcx", "rax", "rcx",
     "rdx")
LOOP(stall_divide_3, "sqrtsd %%xmm0, %%xmm0\n divsd %%xmm1, %%xmm0", "xmm0", "xmm1")
LOOP(stall_lock_1, "lock addq $1, (%[m])", "rax")
LOOP(stall_lock_2, "xchg %%rax, (%[m])", "rax")
LOOP(stall_lock_3, "movq $1, (%[m])\n mfence", "rax")
LOOP(stall_string_1, "mov %[m], %%rdi\n mov $200, %%ecx\n rep stosb", "rdi", "rcx")
LOOP(stall_string_2, "mov %[m], %%rdi\n lea 65536(%[m]), %%rsi\n mov $1000, %%ecx\n rep movsb",
     "rdi", "rsi", "rcx")
LOOP(stall_string_3, "mov %[m], %%rdi\n lea 65536(%[m]), %%rsi\n mov $2000, %%ecx\n rep movsq",
     "rdi", "rsi", "rcx")

static const struct stall {
  const char* name;
  void (*run)(uint64_t times);
  size_t places;  // of the chain; 0: none is needed
  size_t (*place)(size_t number);
} stalls[] = {
#define THREE(cause)                                                                      \
  {#cause "_1", stall_##cause##_1, 0, NULL}, {#cause "_2", stall_##cause##_2, 0, NULL}, { \
#cause "_3", stall_##cause##_3, 0, NULL                                               \
  }
    {"cache_1", stall_cache_1, (256 << 10) / kLine, line_of},
    {"cache_2", stall_cache_2, (8 << 20) / kLine, line_of},
    {"cache_3", stall_cache_3, (128 << 20) / kLine, line_of},
    {"pages_1", stall_pages_1, 512, page_of},
    {"pages_2", stall_pages_2, 4096, page_of},
    {"pages_3", stall_pages_3, 32768, page_of},
    THREE(code),
    THREE(branch),
    THREE(stores),
    THREE(forward),
    THREE(divide),
    THREE(lock),
    THREE(string)};

int main(int argc, char** argv) {
  memory = mmap(NULL, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  madvise(memory, kMemory, MADV_NOHUGEPAGE);
  memset(memory, 1, kMemory);
  for (size_t i = 0; argc > 1 && i < sizeof stalls / sizeof *stalls; i++) {
    if (strcmp(argv[1], stalls[i].name) != 0) continue;
    if (stalls[i].places > 0) link_places(stalls[i].places, stalls[i].place);
    puts("ready");
    fflush(stdout);
    // A call takes some milliseconds.
    const uint64_t times = strncmp(argv[1], "code", 4) == 0     ? 1000
                           : strncmp(argv[1], "string", 6) == 0 ? 50000
                                                                : 1000000;
    const long calls = argc > 2 ? atol(argv[2]) : -1;
    for (long call = 0; call != calls; call++) stalls[i].run(times);
    return 0;
  }
  fprintf(stderr, "stalls: no such stall\n");
  return 2;
}
