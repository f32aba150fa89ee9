#include "controller/perf/bpf_program.h"

#include <bpf/libbpf.h>

namespace causalctl::perf {

void throw_if_failed(int result, const char* call) {
  if (result >= 0) return;
  const bool is_forbidden = result == -EPERM || result == -EACCES;
  throw Error::from_errno(call, -result,
                          is_forbidden ? "run as root, or with CAP_BPF and CAP_PERFMON" : "");
}

void silence_libbpf() { libbpf_set_print(nullptr); }

}  // namespace causalctl::perf
