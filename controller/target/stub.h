// The bytes of stub.S as they go into the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::target {

// The kernel's struct sigaction on x86-64, which is not the C library's.
struct KernelSigaction {
  Address handler = 0;  // 0: SIG_DFL, 1: SIG_IGN
  std::uint64_t flags = 0;
  Address restorer = 0;
  std::uint64_t mask = 0;
};

struct StubParameters {
  Address slots_begin = 0;
  Address slots_end = 0;
  Address previous_handler = 0;  // 0: SIG_DFL
};

// The stub with its parameters filled in. It starts with the handler.
std::vector<std::byte> stub_image(const StubParameters& parameters);

// The parameters of the stub that is at this address of a process; nullopt: none is.
std::optional<StubParameters> find_stub(Pid pid, Address code);

// The disposition of SIGTRAP that makes the stub at `code` its handler.
KernelSigaction stub_action(Address code);

}  // namespace causalctl::target
