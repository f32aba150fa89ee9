#include "controller/perf/bpf_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "controller/base/error.h"

namespace causalctl::perf {
namespace {

constexpr std::size_t kPage = 4096;

Fd checked(int fd, const char* call) {
  if (fd < 0) {
    throw Error::from_errno(call, errno, "run as root, or with CAP_BPF and CAP_PERFMON");
  }
  return Fd(fd);
}

}  // namespace

BpfValue::BpfValue(std::size_t bytes) {
  libbpf_set_print(nullptr);
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  map_ = checked(bpf_map_create(BPF_MAP_TYPE_ARRAY, "causalctl", sizeof(std::uint32_t),
                                static_cast<std::uint32_t>(bytes), 1, &options),
                 "bpf(BPF_MAP_CREATE, array)");
  const std::size_t whole_pages = (bytes + kPage - 1) / kPage * kPage;
  void* address = mmap(nullptr, whole_pages, PROT_READ | PROT_WRITE, MAP_SHARED, map_.get(), 0);
  if (address == MAP_FAILED) throw Error::from_errno("mmap of a BPF map", errno);
  mapping_ = Mapping(address, whole_pages);
}

Fd make_bpf_ring(unsigned bytes) {
  libbpf_set_print(nullptr);
  return checked(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "causalctl", 0, 0, bytes, nullptr),
                 "bpf(BPF_MAP_CREATE, ringbuf)");
}

Fd load_bpf_program(bpf_prog_type type, const char* name, std::span<const bpf_insn> code,
                    int attach_type) {
  libbpf_set_print(nullptr);
  bpf_prog_load_opts options{};
  options.sz = sizeof options;
  options.expected_attach_type = static_cast<bpf_attach_type>(attach_type);
  return checked(bpf_prog_load(type, name, "Dual MIT/GPL", code.data(), code.size(), &options),
                 "bpf(BPF_PROG_LOAD)");
}

}  // namespace causalctl::perf
