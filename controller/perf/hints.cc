#include "controller/perf/hints.h"

#include <fmt/format.h>

#include <cerrno>

namespace causalctl::perf {
namespace {

std::string permission_hint(const perf_event_attr& attr, const SystemFacts& facts) {
  if (attr.type == PERF_TYPE_TRACEPOINT) {
    return fmt::format(
        "tracepoints need root, CAP_PERFMON or kernel.perf_event_paranoid=-1 (it is {})",
        facts.paranoid);
  }
  const int most_paranoid = attr.exclude_kernel != 0 ? 2 : 1;
  if (facts.paranoid <= most_paranoid) {
    return "run as root or with CAP_PERFMON and CAP_SYS_PTRACE: the process is another user's, or "
           "executes a program that its user may not read";
  }
  return fmt::format(
      "run as root or with CAP_PERFMON and CAP_SYS_PTRACE, or as the target's user with "
      "kernel.perf_event_paranoid at most {} (it is {})",
      most_paranoid, facts.paranoid);
}

std::string unsupported_hint(const perf_event_attr& attr) {
  if (attr.sigtrap != 0) return "synchronous signals from perf events need Linux 5.13 or later";
  if (attr.type == PERF_TYPE_BREAKPOINT) {
    return "this processor or virtual machine offers no such hardware breakpoint; use a uprobe";
  }
  if (attr.type == PERF_TYPE_TRACEPOINT) return "the tracepoint is not valid here";
  if (attr.type >= PERF_TYPE_MAX) return "uprobe events need Linux 4.17 or later";
  if (attr.sample_max_stack != 0) {
    return "call chains of a chosen depth need Linux 4.8 or later, at most "
           "kernel.perf_event_max_stack entries, and copied stacks a multiple of 8 bytes";
  }
  return "the events used here need Linux 4.8 or later";
}

std::string open_hint(int error_number, const perf_event_attr& attr, const SystemFacts& facts) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return permission_hint(attr, facts);
    case EMFILE:
      return fmt::format(
          "every thread needs several descriptors and the limit is {}; raise it: ulimit -n",
          facts.descriptors);
    case ENFILE:
      return "the system's table of open files is full: raise fs.file-max";
    case ENOSPC:
      return attr.type == PERF_TYPE_BREAKPOINT
                 ? "all four hardware breakpoint registers are taken; use fewer breakpoints or a "
                   "uprobe"
                 : "the kernel has no room for another event";
    case EBUSY:
      return "another tool has exclusive use of this event; end it (another profiler, a debugger)";
    case EINVAL:
    case E2BIG:
    case EOPNOTSUPP:
    case EOVERFLOW:
    case ENOENT:
    case ENODEV:
      return unsupported_hint(attr);
    case ENOSYS:
      return "this kernel was built without CONFIG_PERF_EVENTS, or a seccomp filter forbids it";
    default:
      return "";
  }
}

}  // namespace

std::string hint_for(Call call, int error_number, const perf_event_attr& attr,
                     const SystemFacts& facts) {
  if (call == Call::open) return open_hint(error_number, attr, facts);
  if (call == Call::map && (error_number == EPERM || error_number == EAGAIN)) {
    return fmt::format(
        "the memory that perf rings may lock is used up: raise kernel.perf_event_mlock_kb (it is "
        "{}) or RLIMIT_MEMLOCK (ulimit -l), or run as root",
        facts.mlock_kb);
  }
  if (call == Call::map && error_number == ENOMEM) return "not enough memory for another ring";
  return "";
}

}  // namespace causalctl::perf
