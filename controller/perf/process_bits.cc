#include "controller/perf/process_bits.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "controller/base/error.h"
#include "controller/perf/bpf/watched.h"
#include "controller/perf/bpf_program.h"

namespace causalctl::perf {
namespace {

struct Bit {
  std::size_t word;
  std::uint64_t mask;
};

Bit bit_of(Pid process) {
  const auto number = static_cast<std::size_t>(process) % WATCHED_NUMBERS;
  return {number / WATCHED_WORD_BITS, std::uint64_t{1} << number % WATCHED_WORD_BITS};
}

}  // namespace

ProcessBits::ProcessBits() {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  constexpr auto kBytes = sizeof(WatchedProcesses);
  const int map =
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "watched", sizeof(std::uint32_t), kBytes, 1, &options);
  throw_if_failed(map < 0 ? -errno : 0, "bpf(BPF_MAP_CREATE)");
  map_ = Fd(map);
  memory_ = memory_of_map(map, kBytes);
}

WatchedProcesses& ProcessBits::bits() const {
  return *reinterpret_cast<WatchedProcesses*>(memory_.data());
}

void ProcessBits::follow(Pid process) {
  const auto [word, mask] = bit_of(process);
  __atomic_fetch_or(&bits().followed[word], mask, __ATOMIC_RELAXED);
}

void ProcessBits::sample(Pid process) {
  const auto [word, mask] = bit_of(process);
  __atomic_fetch_or(&bits().sampled[word], mask, __ATOMIC_RELAXED);
  follow(process);
}

void ProcessBits::leave(Pid process) {
  const auto [word, mask] = bit_of(process);
  __atomic_fetch_and(&bits().sampled[word], ~mask, __ATOMIC_RELAXED);
  __atomic_fetch_and(&bits().followed[word], ~mask, __ATOMIC_RELAXED);
}

}  // namespace causalctl::perf
