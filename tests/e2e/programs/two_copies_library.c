__attribute__((noinline)) void item_done(void) { __asm__ volatile(""); }

void run(void) {
  for (volatile long i = 0; i < 500000; i++) {
  }
  item_done();
}
