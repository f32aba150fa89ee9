/* A program without a C library: its first function is written in C, so that the compiler's table
   takes argc for its return address. */
static void write_all(const char* text, long size) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(1L), "D"(1L), "S"(text), "d"(size)
                   : "rcx", "r11", "memory");
}

__attribute__((noinline)) void work(long n) {
  for (volatile long i = 0; i < n; ++i) {
  }
}

__attribute__((noinline)) void run_main(void) {
  for (;;) {
    work(100000);
    __asm__ volatile("");
  }
}

__attribute__((force_align_arg_pointer)) void _start(void) {
  write_all("ready\n", 6);
  run_main();
  for (;;) {
  }
}
