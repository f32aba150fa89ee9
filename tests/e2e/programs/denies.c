// `denies NUMBER[,NUMBER…] PROGRAM …` executes the program with these system calls forbidden by a
// seccomp filter (EPERM), as a container does it.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMost = 64 };

int main(int count, char** words) {
  struct sock_filter filter[kMost];
  unsigned short size = 0;
  if (count < 3) return 2;
  filter[size++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (char* call = strtok(words[1], ","); call != NULL && size < kMost - 3;
       call = strtok(NULL, ",")) {
    filter[size++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(call), 0, 1);
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {size, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("seccomp");
    return 1;
  }
  execvp(words[2], words + 2);
  perror(words[2]);
  return 1;
}
