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

}  // namespace causalctl::perf
