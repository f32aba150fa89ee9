/* Assembly without an unwind table that keeps 4 KB on the stack, more than is searched for its
   caller, and a number in RBP, which is 0 during the call. What lies there is cleared, so that no
   return address of an earlier call is found. */
#include <stdio.h>

volatile long sink;

void by_assembly(void (*function)(void));
__asm__(
    ".globl by_assembly\n"
    ".type by_assembly, @function\n"
    "by_assembly:\n"
    "  push %rbp\n"
    "  push %rbx\n"
    "  sub $0x1008, %rsp\n"
    "  mov %rdi, %rbx\n"
    "  mov %rsp, %rdi\n"
    "  mov $0x201, %ecx\n"
    "  xor %eax, %eax\n"
    "  rep stosq\n"
    "  xor %ebp, %ebp\n"
    "  call *%rbx\n"
    "  inc %rbp\n"
    "  add $0x1008, %rsp\n"
    "  pop %rbx\n"
    "  pop %rbp\n"
    "  ret\n"
    ".size by_assembly, . - by_assembly\n");

__attribute__((noinline)) void leaf(void) {
  for (volatile int i = 0; i < 100000; ++i) ++sink;
}

__attribute__((noinline)) void caller(void) {
  by_assembly(leaf);
  ++sink;
}

int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) caller();
}
