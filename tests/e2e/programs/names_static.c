// A static function that another file has, too, and, with LIBRARY, one that another library has.
static volatile unsigned long sum;

static __attribute__((noinline)) void hash(long rounds) {
  for (long i = 0; i < rounds; ++i) sum += (unsigned long)i;
}

void CALLER(long rounds) {
  hash(rounds);
  sum++;
}
