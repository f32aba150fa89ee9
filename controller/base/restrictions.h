// What forbids a system call to causalctl besides the rights of its user: a seccomp filter, a user
// namespace whose capabilities count for nothing outside, a root without capabilities, a kernel
// that is locked down. One place for all commands and `doctor`. What can be tried is tried: a
// filter is seen by a call that does nothing.
#pragma once

#include <cstdint>
#include <string>

namespace causalctl {

enum class GuardedCall : std::uint8_t { perf_event_open, process_vm_readv, ptrace, bpf };

// Returns whether a seccomp filter answers the call before the kernel does.
bool is_filtered(GuardedCall call);

// Returns whether causalctl is in the machine's first namespace of this kind ("user", "time"), or
// the kernel has none of the kind.
bool in_first_namespace(const char* kind);

// Returns whether the caller has the capability, and it counts for the whole machine: those of
// another user namespace do not.
bool has_machine_capability(int capability);

struct RestrictionFacts {
  bool filtered = false;
  bool root = false;
  bool has_capability = false;  // by name, whatever it counts for
  bool first_user_namespace = true;
  std::string lockdown;  // the text of /sys/kernel/security/lockdown
};

// Returns what forbids the call, and what to do, as a hint, or "" if none of these does. Pure.
std::string restriction(GuardedCall call, const RestrictionFacts& facts);
std::string restriction(GuardedCall call);  // the same by the facts of this process

}  // namespace causalctl
