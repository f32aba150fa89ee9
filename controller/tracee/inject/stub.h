// The bytes of stub.S as they go into the target, and where they are there.
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

struct Injection {
  Address code = 0;
  Address slots = 0;  // array of Slot (slot.h)
  unsigned slot_count = 0;
  Nanoseconds stop_ns = 0;  // how long the thread that injected it was stopped
};

struct StubParameters {
  Address slots_begin = 0;
  Address slots_end = 0;
};

// Returns the stub with its parameters filled in. It starts with the handler.
std::vector<std::byte> stub_image(const StubParameters& parameters);

// Returns the parameters of the stub that these bytes begin with; nullopt if that is none. Pure.
std::optional<StubParameters> parse_stub(std::span<const std::byte> bytes);

// Does the same for the bytes at this address of a process.
std::optional<StubParameters> find_stub(Pid pid, Address code);

// Returns the signals that the kernel drops because the process ignores them, by SIG_IGN or by
// default (signal(7)), given SigIgn and SigCgt of its status. Bit n-1 is signal n.
//
// The kernel does not drop them for a thread that blocks them. A child's SIGCHLD, which goes to the
// thread that forked it, would then be queued for the process and wake another thread, whose call
// may return EINTR (sigwaitinfo, which is not restarted). So the stub must not block these.
std::uint64_t dropped_signals(std::uint64_t ignored, std::uint64_t caught);

// Returns the disposition of SIGTRAP that makes the stub at `code` its handler. The stub runs with
// all signals but `unblocked` blocked, so that no handler that the target has by now nests in it:
// two signal frames may be more than a small stack holds.
KernelSigaction stub_action(Address code, std::uint64_t unblocked);

}  // namespace causalctl::tracee
