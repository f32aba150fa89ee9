// How large the state of the vector unit is that the kernel saves on the stack of a signal's
// handler.
#pragma once

#include <array>
#include <cstdint>

namespace causalctl::perf {

// Returns the sizes, in bytes, that it can have on this machine: of all threads, and of those that
// were permitted to use AMX (arch_prctl(2)).
std::array<std::uint32_t, 2> signal_state_sizes();

// Tells them to a program with bpf/interrupted.bpf.h, before it is loaded.
template <typename Constants>
void set_signal_states(Constants& constants) {
  const auto sizes = signal_state_sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) constants.signal_state_bytes[i] = sizes[i];
}

}  // namespace causalctl::perf
