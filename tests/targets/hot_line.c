// A function that is entered some thousand times a second and whose hot loop lies in the same 64
// bytes as its entry: on some processors (AMD EPYC) that loop runs several times slower while an
// execution breakpoint stands at the entry.
#include "harness.h"

uint64_t pass(uint64_t steps, uint64_t value);
__asm__(
    ".text\n"
    ".balign 64\n"
    ".globl pass\n"
    ".type pass, @function\n"
    "pass: movq %rsi, %rax\n"
    "1: imulq $0x5851f42d, %rax, %rax\n"
    "addq $1442695, %rax\n"
    "movq %rax, %rcx\n"
    "shrq $33, %rcx\n"
    "xorq %rcx, %rax\n"
    "subq $1, %rdi\n"
    "jnz 1b\n"
    "ret\n"
    ".size pass, . - pass\n"
    ".balign 64\n");

static uint64_t iterations;

static void work(uint64_t steps) { pass(steps, 1); }

static NOINLINE void* endless(void* unused) {
  while (!stopping()) {
    work(iterations);
    count_round();
  }
  return unused;
}

int main(int argc, char** argv) {
  static double pass_us = 400;
  const struct own_option own[] = {{"--pass-us", &pass_us, NULL, "CPU time of a pass"},
                                   {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "one thread whose hot loop is beside the entry of pass()", own);
  iterations = (uint64_t)(calibrate("pass", work) * pass_us / 1000);
  pthread_t* workers = start_workers(1, endless);
  ready();
  wait_for_end();
  join_workers(workers, 1);
  return finish();
}
