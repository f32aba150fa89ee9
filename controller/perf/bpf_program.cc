#include "controller/perf/bpf_program.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "controller/base/restrictions.h"

namespace causalctl::perf {
namespace {

constexpr const char* kKernelTypes = "/sys/kernel/btf/vmlinux";

bool is_forbidden(int result) { return result == -EPERM || result == -EACCES; }

}  // namespace

void throw_if_failed(int result, const char* call) {
  if (result >= 0) return;
  std::string hint = is_forbidden(result) || result == -ENOSYS ? restriction(GuardedCall::bpf) : "";
  if (hint.empty() && is_forbidden(result)) hint = "run as root, or with CAP_BPF and CAP_PERFMON";
  throw Error::from_errno(call, -result, hint);
}

Error no_kernel_types() {
  return Error(fmt::format("the kernel does not describe its types ({})", kKernelTypes),
               "mount /sys, or use a kernel with CONFIG_DEBUG_INFO_BTF");
}

// libbpf takes the kernel's types for programs that are written for any kernel.
void throw_if_not_loaded(int result) {
  const bool has_types = ::access(kKernelTypes, R_OK) == 0;
  if (result < 0 && !is_forbidden(result) && !has_types) throw no_kernel_types();
  throw_if_failed(result, "bpf(BPF_PROG_LOAD)");
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
