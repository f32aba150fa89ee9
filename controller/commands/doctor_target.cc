// Checks what can be done with one process, as /proc tells it. Opening /proc/PID/mem is the only
// test of the right to ptrace that leaves no trace in the target (proc_pid_mem(5): it needs
// PTRACE_MODE_ATTACH, Yama included).
#include <elf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/halt_text.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/base/regular_file.h"
#include "controller/commands/doctor_checks.h"
#include "controller/pause/pauser.h"
#include "controller/progress/image.h"
#include "controller/progress/progress.h"
#include "controller/session/precedence.h"
#include "controller/session/target_end.h"
#include "controller/session/target_state.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/inject/left_stub.h"
#include "controller/tracee/process.h"
#include "controller/tracee/target_lock.h"
#include "unwind/modules/obstacle.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::commands {
namespace {

std::string command_of(Pid pid) { return printable(tracee::process_name(pid)); }

std::string user_name(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry != nullptr ? std::string(entry->pw_name) : fmt::format("uid {}", uid);
}

Check process(Pid target, const procfs::Status& status) {
  Check check{"process", Verdict::ok,
              fmt::format("{} ({}), of {}, {} threads", target, command_of(target),
                          user_name(status.uid), status.threads),
              "", true};
  const bool kernel_thread = procfs::parse_is_kernel_thread(
      procfs::read_text(fmt::format("/proc/{}/stat", target)).value_or(""));
  if (status.tgid != target) {
    check.verdict = Verdict::missing;
    check.remedy = fmt::format("this is a thread: profile process {}", status.tgid);
  } else if (session::has_first_thread_ended(target)) {
    check.verdict = Verdict::missing;
    check.remedy =
        fmt::format("{}; {}", tracee::first_thread_ended(target), tracee::kWithoutFirstThread);
  } else if (status.state == 'Z' || status.state == 'X') {
    check.verdict = Verdict::missing;
    check.remedy = "it has ended and waits for its parent";
  } else if (kernel_thread) {
    check.verdict = Verdict::missing;
    check.remedy = "a kernel thread cannot be profiled";
  } else if (const auto state = session::state_of(target); state.stopped || state.frozen) {
    // Nothing can be put into a frozen process. A stopped one may go on before the profile begins.
    check.verdict = state.frozen ? Verdict::missing : Verdict::limited;
    check.finding += "; " + text_of_halt(state.stopped, state.frozen);
    check.remedy = state.frozen ? "attach refuses a frozen process: thaw its control group first"
                                : fmt::format("nothing is measured before kill -CONT {}", target);
  }
  return check;
}

Check ptrace_right(Pid target) {
  const int error = tracee::trace_error(target);
  if (error == 0) return {"ptrace", Verdict::ok, "permitted", "", true};
  return {"ptrace", Verdict::missing, fmt::format("not permitted: {}", std::strerror(error)),
          "run as the process's user, with CAP_SYS_PTRACE or as root; see ptrace (Yama) above",
          true};
}

Check tracer(const procfs::Status& status) {
  if (status.tracer_pid == 0) return {"tracer", Verdict::ok, "not traced", "", true};
  return {
      "tracer", Verdict::missing,
      fmt::format("already traced by {} ({})", status.tracer_pid, command_of(status.tracer_pid)),
      "detach that debugger or tracer first", true};
}

// Returns nullopt for a process without threads that come to a core before others.
std::optional<Check> precedence(Pid target) {
  const tracee::Claims claims = tracee::claims_of(target);
  if (claims.count == 0 && claims.deadline == 0) return std::nullopt;
  try {
    const session::Precedence tried(target);
  } catch (const Error& error) {
    return Check{"priorities", Verdict::missing, error.what(), error.hint(), true};
  }
  return Check{
      "priorities", Verdict::ok,
      fmt::format("threads with real-time priority: {}, up to {}", claims.count, claims.priority),
      "", true};
}

Check word_size(Pid target) {
  const Fd file = open_regular(fmt::format("/proc/{}/exe", target));
  Elf64_Ehdr header{};
  if (!file || pread(file.get(), &header, sizeof header, 0) != sizeof header) {
    return {"executable", Verdict::limited, "cannot be read",
            "run as the process's user or as root", false};
  }
  const auto path = procfs::executable(target);
  const bool native = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
  if (native) return {"executable", Verdict::ok, path + ", 64-bit x86", "", true};
  return {"executable", Verdict::missing, path + " is not 64-bit x86",
          "32-bit programs (and x32) cannot be profiled: use a 64-bit build", true};
}

Check profiled_by(Pid causalctl) {
  return {"pause channel", Verdict::missing,
          fmt::format("it is being profiled by causalctl, process {}", causalctl),
          "wait until that one ends, or end it by Ctrl-C", true};
}

// Checks what another causalctl has put into the process.
std::optional<Check> left_stub(Pid target) {
  if (const auto causalctl = tracee::locked_by_causalctl(target)) return profiled_by(*causalctl);
  const auto left = tracee::find_left_stub(target);
  if (!left) return std::nullopt;
  switch (tracee::state_of(left->owner, target)) {
    case tracee::OwnerState::at_work:
      return profiled_by(tracee::who_lives(left->owner));
    case tracee::OwnerState::gone:
      return Check{"pause channel", Verdict::limited,
                   "a causalctl that was killed has left its pause stub in it",
                   "nothing to do: the next attach removes it", false};
    case tracee::OwnerState::unknown:
      break;
  }
  return std::nullopt;
}

Check pause_channel(Pid target) {
  if (auto check = left_stub(target)) return *check;
  if (const auto obstacle = pause::sigtrap_obstacle(target)) {
    return {"pause channel", Verdict::limited, "ptrace, because " + *obstacle,
            "nothing to do: pauses cost the target more", false};
  }
  int blocking = 0;
  for (const Tid tid : procfs::threads(target)) {
    const auto thread = procfs::thread_status(target, tid);
    blocking += thread && procfs::has_signal(thread->signals_blocked, SIGTRAP) ? 1 : 0;
  }
  return {"pause channel", Verdict::ok,
          blocking == 0
              ? "sigtrap"
              : fmt::format("sigtrap; threads that block SIGTRAP, by ptrace: {}", blocking),
          "", false};
}

Check namespaces(Pid target) {
  std::vector<std::string> different;
  for (const char* name : {"pid", "mnt", "user", "net", "cgroup"}) {
    if (procfs::in_other_namespace(target, name)) different.emplace_back(name);
  }
  if (different.empty())
    return {"container", Verdict::ok, "same namespaces as causalctl", "", false};
  return {"container", Verdict::ok,
          fmt::format("other namespaces ({}): its files are read through /proc/{}/root",
                      fmt::join(different, ", "), target),
          "", false};
}

bool has_symbol_table(const std::string& path) {
  const progress::ElfFile file(path);
  if (file.get() == nullptr) return false;
  for (Elf_Scn* section = elf_nextscn(file.get(), nullptr); section != nullptr;
       section = elf_nextscn(file.get(), section)) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

std::vector<Check> debug_information(Pid target) {
  unwind::Symbolizer symbolizer(target);
  std::size_t libraries = 0;
  Check lines{"debug information", Verdict::limited, "", "", false};
  const auto exe = fmt::format("/proc/{}/exe", target);
  for (const auto& module : symbolizer.modules()) {
    if (!module.main) {
      ++libraries;
    } else if (symbolizer.has_lines(module.start)) {
      lines.verdict = Verdict::ok;
      lines.finding = "lines: --unit line is possible";
    } else if (has_symbol_table(exe)) {
      lines.finding = "no lines, but symbols: --unit function";
    } else {
      lines.finding = "neither lines nor symbols: functions are named by their offset";
    }
    if (module.main && lines.verdict != Verdict::ok) {
      lines.remedy = fmt::format(
          "build with -g, install its debug package (build-id {}), or set "
          "DEBUGINFOD_URLS",
          module.build_id.empty() ? "none" : module.build_id);
    }
  }
  if (const auto obstacle = unwind::executable_obstacle(target);
      obstacle && lines.verdict != Verdict::ok) {
    lines.finding = obstacle->what;
    lines.remedy = obstacle->hint;
  }
  if (lines.finding.empty()) lines.finding = "the executable is not among the mappings";
  Check others{"libraries", Verdict::ok, fmt::format("{} mapped", libraries), "", false};
  if (const auto obstacle = unwind::library_obstacle(target)) {
    others.verdict = Verdict::limited;
    others.finding += "; " + obstacle->what;
    others.remedy = obstacle->hint;
  }
  return {lines, others};
}

Check usdt(Pid target) {
  return {"USDT probes", Verdict::ok,
          fmt::format("{} (causalctl points {} lists them)", progress::usdt_probes(target).size(),
                      target),
          "", false};
}

}  // namespace

std::optional<std::vector<Check>> check_target(Pid target) {
  const auto status = target > 0 ? procfs::status(target) : std::nullopt;
  if (!status) return std::nullopt;
  std::vector<Check> checks{process(target, *status)};
  if (checks.front().verdict == Verdict::missing) return checks;
  checks.push_back(ptrace_right(target));
  checks.push_back(tracer(*status));
  if (auto check = precedence(target)) checks.push_back(std::move(*check));
  checks.push_back(word_size(target));
  checks.push_back(pause_channel(target));
  checks.push_back(namespaces(target));
  if (checks[1].verdict == Verdict::missing) return checks;  // the files cannot be read, either
  try {
    const auto more = debug_information(target);
    checks.insert(checks.end(), more.begin(), more.end());
    checks.push_back(usdt(target));
  } catch (const TargetGone&) {
    return std::nullopt;
  } catch (const Error& error) {
    checks.push_back({"debug information", Verdict::limited, error.what(), error.hint(), false});
  }
  return checks;
}

}  // namespace causalctl::commands
