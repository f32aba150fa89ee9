#include "controller/perf/bpf_program.h"

#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace causalctl::perf {

void throw_if_failed(int result, const char* call) {
  if (result >= 0) return;
  const bool is_forbidden = result == -EPERM || result == -EACCES;
  throw Error::from_errno(call, -result,
                          is_forbidden ? "run as root, or with CAP_BPF and CAP_PERFMON" : "");
}

void share_map(bpf_map* map, int descriptor) {
  throw_if_failed(bpf_map__reuse_fd(map, descriptor), "sharing of a BPF map");
}

std::size_t all_cores() {
  return static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

void set_map_size(bpf_map* map, std::size_t entries) {
  throw_if_failed(bpf_map__set_max_entries(map, static_cast<std::uint32_t>(entries)),
                  "sizing of a BPF map");
}

Mapping memory_of_map(int descriptor, std::size_t bytes) {
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) throw Error::from_errno("mmap of a BPF map", errno);
  return {address, bytes};
}

void silence_libbpf() { libbpf_set_print(nullptr); }

}  // namespace causalctl::perf
