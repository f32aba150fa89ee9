// Checks what this machine and this user's rights allow. doctor_trials.cc tries whatever can be
// tried.
#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/base/restrictions.h"
#include "controller/base/thread.h"
#include "controller/commands/doctor_checks.h"
#include "controller/perf/event.h"
#include "controller/progress/syscalls.h"

namespace causalctl::commands {
namespace {

constexpr int kCapPerfmon = 38;  // new in Linux 5.8, and missing in older headers

bool may_monitor_all() {
  return has_machine_capability(kCapPerfmon) || has_machine_capability(CAP_SYS_ADMIN);
}

Check kernel() {
  utsname name{};
  uname(&name);
  Check check{"kernel", Verdict::ok, fmt::format("{} {}", name.release, name.machine), "", true};
  const auto version = parse_kernel_version(name.release);
  if (std::string_view(name.machine) != "x86_64") {
    check.verdict = Verdict::missing;
    check.remedy = "causalctl knows only x86-64";
  } else if (version < kSigtrapKernel) {
    check.verdict = Verdict::limited;
    check.remedy = "before 5.13 there are no sigtrap events, so pauses are made by ptrace";
    if (version < KernelVersion{4, 17}) check.remedy += "; before 4.17 no uprobe events";
  }
  return check;
}

// Checks what the rights allow; doctor_trials.cc tries whether it works.
Check perf_permission() {
  const auto paranoid = procfs::read_number("/proc/sys/kernel/perf_event_paranoid");
  Check check{"perf events", Verdict::ok, "", "", false};
  check.finding = paranoid ? fmt::format("perf_event_paranoid {}", *paranoid)
                           : std::string("perf_event_paranoid cannot be read");
  if (auto forbidden = restriction(GuardedCall::perf_event_open); !forbidden.empty()) {
    check.verdict = is_filtered(GuardedCall::perf_event_open) ? Verdict::missing : Verdict::limited;
    check.finding += "; forbidden here";
    check.remedy = std::move(forbidden);
  } else if (may_monitor_all()) {
    check.finding += "; all events permitted (CAP_PERFMON or CAP_SYS_ADMIN)";
  } else if (paranoid.value_or(2) > -1) {
    check.verdict = Verdict::limited;
    check.finding += paranoid.value_or(2) > 1 ? "; user code only, no tracepoints, no uprobes"
                                              : "; no tracepoints, no uprobes";
    check.remedy = kRunAsRoot;
  }
  return check;
}

Check system_calls() {
  Check check{"tracefs", Verdict::ok, "", "", false};
  try {
    const auto tracefs = progress::tracefs_of_calls();
    check.finding = fmt::format("{}: system calls as progress points",
                                tracefs.is_ours ? "mounted for this process only" : tracefs.path);
  } catch (const Error& error) {
    check.verdict = Verdict::missing;
    check.finding = fmt::format("{}: no system calls as progress points", error.what());
    check.remedy = error.hint();
  }
  return check;
}

Check yama() {
  const auto scope = procfs::read_number("/proc/sys/kernel/yama/ptrace_scope").value_or(0);
  Check check{"ptrace (Yama)", Verdict::ok, fmt::format("ptrace_scope {}", scope), "", false};
  if (scope == 3) {
    check = {check.name, Verdict::missing, "ptrace_scope 3: attaching is off until the next boot",
             "kernel.yama.ptrace_scope=0..2 at boot", true};
  } else if (scope > 0 && !procfs::has_capability(CAP_SYS_PTRACE)) {
    check.verdict = scope == 1 ? Verdict::limited : Verdict::missing;
    check.required = scope == 2;
    check.finding += scope == 1 ? ": only children of causalctl (causalctl run)" : ": only root";
    check.remedy = "run as root, or: sysctl kernel.yama.ptrace_scope=0";
  }
  return check;
}

Check sample_rate() {
  const auto most = procfs::read_number("/proc/sys/kernel/perf_event_max_sample_rate");
  if (most) return check_sample_rate(*most);
  return {"sample rate", Verdict::ok, "perf_event_max_sample_rate cannot be read", "", false};
}

std::string size_text(rlim_t bytes) {
  return bytes == RLIM_INFINITY ? "unlimited" : fmt::format("{} KB", bytes / 1024);
}

Check locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const auto per_cpu = procfs::read_number("/proc/sys/kernel/perf_event_mlock_kb").value_or(516);
  Check check{"ring memory", Verdict::ok,
              fmt::format("perf_event_mlock_kb {} per CPU and user, RLIMIT_MEMLOCK {}", per_cpu,
                          size_text(limit.rlim_cur)),
              "", false};
  if (has_machine_capability(CAP_IPC_LOCK)) {
    check.finding += "; no limit applies (CAP_IPC_LOCK)";
  } else if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < (64U << 20)) {
    check.verdict = Verdict::limited;
    check.remedy = "for targets of many threads: run as root, or raise ulimit -l";
  }
  return check;
}

Check descriptors() {
  constexpr rlim_t kPerThread = 8;  // for bookkeeping, samples, wake-ups, pauses and a few points
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  Check check{
      "open files", Verdict::ok,
      fmt::format("up to {}: about {} threads", limit.rlim_max, limit.rlim_max / kPerThread), "",
      false};
  if (limit.rlim_max < 4096) {
    check.verdict = Verdict::limited;
    check.remedy = "raise ulimit -Hn for targets with more threads";
  }
  return check;
}

Check cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  Check check{"cores", Verdict::ok,
              fmt::format("{} online, {} for causalctl", sysconf(_SC_NPROCESSORS_ONLN), usable), "",
              false};
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    check.verdict = Verdict::limited;
    check.remedy = "the controller takes time from the target; prefer a machine with two cores";
  }
  return check;
}

Check cycles() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = PERF_COUNT_HW_CPU_CYCLES;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  try {
    (void)perf::EventFd::open(attr, 0, "cycles");
    return {"cycles counter", Verdict::ok, "in hardware", "", false};
  } catch (const Error&) {
    return {"cycles counter", Verdict::limited, "none: samples come from the task clock",
            "nothing to do: virtual machines often have none", false};
  }
}

// Tries it in a thread of its own, whose priority ends with it.
Check real_time() {
  int result = 0;
  start_thread("a trial of real-time priority", [&] {
    const sched_param priority{1};
    result = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
  }).join();
  if (result == 0) return {"real-time priority", Verdict::ok, "permitted", "", false};
  return {"real-time priority", Verdict::limited,
          fmt::format("not permitted ({}): pauses may come late on a busy machine",
                      std::strerror(result)),
          "run as root, with CAP_SYS_NICE, or with ulimit -r 1", false};
}

// Checks the library that libdw loads by itself when it needs it; libdw does without a missing one.
Check debuginfod() {
  if (std::getenv("DEBUGINFOD_URLS") == nullptr) {
    return {"debuginfod", Verdict::ok, "not used: DEBUGINFOD_URLS is not set", "", false};
  }
  if (void* library = dlopen("libdebuginfod.so.1", RTLD_LAZY)) {
    dlclose(library);
    return {"debuginfod", Verdict::ok, "used for debug information that is missing here", "",
            false};
  }
  return {"debuginfod", Verdict::limited,
          "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is missing", "install libdebuginfod1",
          false};
}

}  // namespace

Check check_sample_rate(long most) {
  constexpr long wanted = kSecond / kMillisecond;  // rate of the default period
  Check check{"sample rate", Verdict::ok,
              fmt::format("perf_event_max_sample_rate {}: enough for a sample a millisecond", most),
              "", false};
  if (most >= wanted) return check;
  check.verdict = Verdict::limited;
  check.finding = fmt::format(
      "perf_event_max_sample_rate {}: fewer than a sample a millisecond, the rest is lost", most);
  check.remedy =
      "sysctl kernel.perf_cpu_time_max_percent=0 kernel.perf_event_max_sample_rate=100000 (the "
      "kernel lowers it again without the first)";
  return check;
}

std::vector<Check> check_machine() {
  std::vector<Check> checks{kernel(), perf_permission()};
  const bool call_points_work = system_calls().verdict == Verdict::ok;
  for (auto& check : check_facilities(call_points_work)) checks.push_back(std::move(check));
  for (auto* more : {sample_rate, system_calls, yama, locked_memory, descriptors, cores, cycles,
                     real_time, debuginfod}) {
    checks.push_back(more());
  }
  return checks;
}

}  // namespace causalctl::commands
