#include "controller/tracee/adoption.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <string>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/base/regular_file.h"
#include "controller/base/restrictions.h"
#include "controller/tracee/process.h"
#include "controller/tracee/target_lock.h"

namespace causalctl::tracee {
namespace {

std::string named(Pid pid) { return fmt::format("{} ({})", pid, process_name(pid)); }

bool is_kernel_thread(Pid pid) {
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", pid));
  return stat && procfs::parse_is_kernel_thread(*stat);
}

void check_permission(Pid pid, uid_t owner) {
  const int error = trace_error(pid);
  if (error == 0) return;
  if (error == ESRCH) {
    throw TargetGone(fmt::format("process {} has ended", pid), "see `ps -e` for those that run");
  }
  throw Error::from_errno(fmt::format("process {} cannot be traced", named(pid)), error,
                          permission_hint(owner));
}

}  // namespace

std::string permission_hint(uid_t owner) {
  const auto yama = procfs::read_text("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (geteuid() != owner && geteuid() != 0) {
    return fmt::format("the process belongs to uid {}: run causalctl as that user or as root",
                       owner);
  }
  for (const GuardedCall call : {GuardedCall::ptrace, GuardedCall::process_vm_readv}) {
    if (auto text = restriction(call); !text.empty()) return text;
  }
  if (yama.starts_with('1')) {
    return "kernel.yama.ptrace_scope is 1: run as root, start the program with `causalctl run`, or "
           "set it to 0 (sysctl kernel.yama.ptrace_scope=0)";
  }
  if (yama.starts_with('2')) {
    return "kernel.yama.ptrace_scope is 2: it needs CAP_SYS_PTRACE (run as root)";
  }
  if (yama.starts_with('3')) {
    return "kernel.yama.ptrace_scope is 3: ptrace is off on this machine until it is rebooted";
  }
  return "the process is not dumpable (set-uid, or it asked not to be), in another user namespace, "
         "or a security module forbids it: run as root with CAP_SYS_PTRACE";
}

procfs::Status check_program(Pid pid, Pid controller) {
  const auto status = pid > 0 ? procfs::status(pid) : std::nullopt;
  if (!status) {
    if (pid > 0 && procfs::exists(pid)) procfs::throw_unreadable(pid, "status");
    throw TargetGone(fmt::format("no such process: {}", pid),
                     "the number is that of `ps` in this pid namespace");
  }
  if (status->tgid != pid) {
    throw UsageError(fmt::format("{} is a thread of process {}", pid, named(status->tgid)),
                     fmt::format("name process {}", status->tgid));
  }
  if (pid == controller || pid == getpid()) {
    throw UsageError(fmt::format("process {} is causalctl itself", pid), "name another process");
  }
  if (is_kernel_thread(pid)) {
    throw Error(fmt::format("process {} is a kernel thread", named(pid)),
                "it runs no program: name a process that `ps -e` shows without brackets");
  }
  if (procfs::has_ended(pid)) {
    throw TargetGone(fmt::format("process {} is a zombie: it has ended", named(pid)),
                     "its parent has not waited for it yet");
  }
  return *status;
}

std::string first_thread_ended(Pid pid) {
  return fmt::format(
      "the main thread of process {} has ended while others go on, so that no experiments are made "
      "in it and no points counted",
      pid);
}

void check_64_bit(Pid pid) {
  const Fd file = open_regular(fmt::format("/proc/{}/exe", pid));
  std::array<char, EI_NIDENT + 4> header{};
  // Otherwise it is gone, as the next check says.
  if (!file || ::pread(file.get(), header.data(), header.size(), 0) != std::ssize(header)) return;
  const auto machine = static_cast<unsigned char>(header[EI_NIDENT + 2]);
  if (header[EI_CLASS] == ELFCLASS64 && machine == EM_X86_64) return;
  throw Error(
      fmt::format("process {} is {}", named(pid),
                  header[EI_CLASS] == ELFCLASS32 ? "a 32-bit program" : "not a program for x86-64"),
      "causalctl profiles x86-64 programs only");
}

void check_readable(Pid pid, Pid controller) {
  check_permission(pid, check_program(pid, controller).uid);
  check_64_bit(pid);
}

void check_adoptable(Pid pid, Pid controller) {
  const procfs::Status status = check_program(pid, controller);
  if (status.state == 'Z') {
    throw Error(first_thread_ended(pid), kWithoutFirstThread);
  }
  if (status.tracer_pid != 0) {
    if (const auto other = locked_by_causalctl(pid)) refuse_profiled(pid, *other);
    throw Error(fmt::format("process {} is already traced by process {}", named(pid),
                            named(status.tracer_pid)),
                "a process has one tracer: end that debugger or tracer first");
  }
  check_permission(pid, status.uid);
  check_64_bit(pid);
}

}  // namespace causalctl::tracee
