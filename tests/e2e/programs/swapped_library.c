// Compiled twice, to the same layout: with PART=first_part and PART=second_part.
__attribute__((noinline)) void PART(void) {
  for (volatile int i = 0; i < 200000; ++i) continue;
}

void work(void) { PART(); }
