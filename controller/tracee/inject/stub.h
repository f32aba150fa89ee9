// The bytes of stub.S as they go into the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::tracee {

// The kernel's struct sigaction on x86-64, which is not the C library's.
struct KernelSigaction {
  Address handler = 0;  // 0: SIG_DFL, 1: SIG_IGN
  std::uint64_t flags = 0;
  Address restorer = 0;
  std::uint64_t mask = 0;
};

// The injected mapping: a page of code, the slots, rounded up to pages, and a page of scratch.
inline constexpr Address kPage = 4096;

struct StubParameters {
  Address slots_begin = 0;
  Address slots_end = 0;
};

// The stub with its parameters filled in. It starts with the handler.
std::vector<std::byte> stub_image(const StubParameters& parameters);

// The parameters of the stub that these bytes begin with; nullopt: it is none. Pure.
std::optional<StubParameters> parse_stub(std::span<const std::byte> bytes);

// … that is at this address of a process.
std::optional<StubParameters> find_stub(Pid pid, Address code);

// Signals that the kernel drops because the process ignores them, by SIG_IGN or by default
// (signal(7)), given SigIgn and SigCgt of its status. Bit n-1 is signal n.
//
// It does not drop them for a thread that blocks them: a child's SIGCHLD, which goes to the thread
// that forked it, would be queued for the process then and wake another thread, whose call may
// return EINTR (sigwaitinfo, which is not restarted). So the stub must not block these.
std::uint64_t dropped_signals(std::uint64_t ignored, std::uint64_t caught);

// The disposition of SIGTRAP that makes the stub at `code` its handler. The stub runs with all
// signals but `unblocked` blocked, so no handler that the target has by now nests in it: two signal
// frames may be more than a small stack holds.
KernelSigaction stub_action(Address code, std::uint64_t unblocked);

}  // namespace causalctl::tracee
