#include "controller/perf/bpf_numbers.h"

#include <sys/stat.h>

#include "controller/base/error.h"
#include "controller/base/procfs.h"

namespace causalctl::perf {
namespace {

constexpr ino_t kInitialPidNamespace = 0xEFFFFFFCU;  // PROC_PID_INIT_INO of the kernel

}  // namespace

std::optional<PidNamespace> namespace_of_numbers(Pid target) {
  struct stat own {};
  if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino == kInitialPidNamespace) {
    return std::nullopt;
  }
  if (procfs::in_other_namespace(target, "pid")) {
    throw Error("the target is in another pid namespace, in which threads have other numbers",
                "run causalctl on the host, outside of the container");
  }
  return PidNamespace{own.st_dev, own.st_ino};
}

void put_numbers(BpfCode& code, const std::optional<PidNamespace>& space, BpfCode::Label none) {
  constexpr int stack = -8;
  constexpr int half = 32;
  if (space) {
    code.set_long(BPF_REG_1, space->device);
    code.set_long(BPF_REG_2, space->inode);
    code.move(BPF_REG_3, BPF_REG_10);
    code.add_number(BPF_REG_3, stack);
    code.set(BPF_REG_4, 8);
    code.call(BPF_FUNC_get_ns_current_pid_tgid);
    code.jump_if(BPF_JNE | BPF_K, BPF_REG_0, 0, 0, none);
    code.add(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_7, BPF_REG_10, stack, 0);      // pid: the thread's
    code.add(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_8, BPF_REG_10, stack + 4, 0);  // tgid
    return;
  }
  code.call(BPF_FUNC_get_current_pid_tgid);
  code.move(BPF_REG_7, BPF_REG_0);
  code.shift_left(BPF_REG_7, half);
  code.shift_right(BPF_REG_7, half);
  code.move(BPF_REG_8, BPF_REG_0);
  code.shift_right(BPF_REG_8, half);
}

}  // namespace causalctl::perf
