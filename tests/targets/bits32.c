// A 32-bit program without any library, so that no 32-bit libc is needed to build it: prints
// `ready PID` and sleeps until a signal ends it.
enum { kSysWrite = 4, kSysGetpid = 20, kSysPause = 29 };

static int system_call(int number, int a, int b, int c) {
  int result = 0;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}

void _start(void) {
  char line[24] = "ready ";
  char digits[12];
  int length = 6;
  int count = 0;
  for (int pid = system_call(kSysGetpid, 0, 0, 0); pid > 0; pid /= 10) {
    digits[count++] = (char)('0' + pid % 10);
  }
  while (count > 0) line[length++] = digits[--count];
  line[length++] = '\n';
  system_call(kSysWrite, 1, (int)line, length);
  for (;;) system_call(kSysPause, 0, 0, 0);
}
