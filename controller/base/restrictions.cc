#include "controller/base/restrictions.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "controller/base/procfs.h"

namespace causalctl {
namespace {

constexpr int kCapPerfmon = 38;  // new in Linux 5.8, and missing in older headers
constexpr int kCapBpf = 39;

std::string_view name_of(GuardedCall call) {
  switch (call) {
    case GuardedCall::perf_event_open:
      return "perf_event_open";
    case GuardedCall::process_vm_readv:
      return "process_vm_readv";
    case GuardedCall::ptrace:
      return "ptrace";
    case GuardedCall::bpf:
      return "bpf";
  }
  return "";
}

// Makes the call so that it does nothing: the kernel looks at these arguments before it looks at
// any right. Returns whether the answer is the kernel's.
bool reaches_kernel(GuardedCall call) {
  switch (call) {
    case GuardedCall::perf_event_open:
      return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, ~0UL) < 0 && errno == EINVAL;
    case GuardedCall::process_vm_readv:
      return ::process_vm_readv(0, nullptr, 0, nullptr, 0, ~0UL) < 0 && errno == EINVAL;
    case GuardedCall::ptrace:
      return ::syscall(SYS_ptrace, -1L, 0, nullptr, nullptr) < 0 && errno == ESRCH;
    case GuardedCall::bpf:
      return ::syscall(SYS_bpf, -1, nullptr, 0) < 0 && (errno == EINVAL || errno == EFAULT);
  }
  return true;
}

int capability_for(GuardedCall call) {
  if (call == GuardedCall::perf_event_open) return kCapPerfmon;
  return call == GuardedCall::bpf ? kCapBpf : CAP_SYS_PTRACE;
}

std::string missing_capability(std::string_view capability) {
  return fmt::format(
      "this root has no {0}: give it to the container (Docker: --cap-add {1}) or to the service "
      "(systemd: CapabilityBoundingSet=), or run causalctl outside",
      capability, capability.substr(std::string_view("CAP_").size()));
}

}  // namespace

bool is_filtered(GuardedCall call) {
  const auto own = procfs::status(::getpid());
  if (!own || own->seccomp == 0) return false;
  // The kernel refuses bpf(2) to an ordinary user at once.
  if (call == GuardedCall::bpf && !has_machine_capability(kCapBpf) &&
      !has_machine_capability(CAP_SYS_ADMIN)) {
    return false;
  }
  return !reaches_kernel(call);
}

bool in_first_namespace(const char* kind) {
  constexpr ino_t kFirstUser = 0xEFFFFFFD;  // PROC_USER_INIT_INO of the kernel's proc_ns.h
  constexpr ino_t kFirstTime = 0xEFFFFFFA;  // PROC_TIME_INIT_INO
  struct stat status {};
  if (::stat(fmt::format("/proc/self/ns/{}", kind).c_str(), &status) != 0) return true;
  return status.st_ino == (std::string_view(kind) == "user" ? kFirstUser : kFirstTime);
}

bool has_machine_capability(int capability) {
  return procfs::has_capability(capability) && in_first_namespace("user");
}

std::string restriction(GuardedCall call, const RestrictionFacts& facts) {
  if (facts.filtered) {
    return fmt::format(
        "a seccomp filter forbids {} (see Seccomp in /proc/self/status): allow it in the profile "
        "of the container (Docker: --security-opt seccomp=FILE) or of the service (systemd: "
        "SystemCallFilter=), or run causalctl outside",
        name_of(call));
  }
  if (call == GuardedCall::ptrace || call == GuardedCall::process_vm_readv) {
    return facts.root && !facts.has_capability ? missing_capability("CAP_SYS_PTRACE") : "";
  }
  if (!facts.first_user_namespace) {
    if (!facts.has_capability) return "";
    if (call == GuardedCall::bpf) {
      return "the capabilities of this user namespace do not count for BPF programs: run causalctl "
             "outside of it (on the host)";
    }
    return "the capabilities of this user namespace do not count for events of the kernel: run "
           "causalctl outside of it (on the host), or set kernel.perf_event_paranoid to 2 or less "
           "and record user code only";
  }
  if (facts.root && !facts.has_capability) {
    return missing_capability(call == GuardedCall::bpf ? "CAP_BPF" : "CAP_PERFMON");
  }
  if (facts.root && facts.lockdown.find("[confidentiality]") != std::string::npos) {
    return "the kernel is locked down (confidentiality, /sys/kernel/security/lockdown): boot it "
           "with lockdown=integrity or none";
  }
  return "";
}

std::string restriction(GuardedCall call) {
  RestrictionFacts facts;
  facts.filtered = is_filtered(call);
  facts.root = ::geteuid() == 0;
  const bool of_events = call == GuardedCall::perf_event_open || call == GuardedCall::bpf;
  facts.has_capability = procfs::has_capability(capability_for(call)) ||
                         (of_events && procfs::has_capability(CAP_SYS_ADMIN));
  facts.first_user_namespace = in_first_namespace("user");
  facts.lockdown = procfs::read_text("/sys/kernel/security/lockdown").value_or("");
  return restriction(call, facts);
}

}  // namespace causalctl
