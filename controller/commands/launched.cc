#include "controller/commands/launched.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/execute.h"
#include "controller/base/fd.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/signal_state.h"
#include "controller/commands/left_behind.h"
#include "controller/commands/lost_rights.h"
#include "controller/commands/wrapper.h"
#include "controller/tracee/process.h"

namespace causalctl::commands {
namespace {

// After SIGTERM a program that does not end is left alone after this time.
constexpr Nanoseconds kPatience = 5 * kSecond;
constexpr int kSignalled = 128;

// The work with a program that may become another one.
class Started {
 public:
  Started(const config::Target& target, tracee::Guardian& guardian, Pid pid)
      : name_(target.command.front()),
        paths_(search_path(target.environment)),
        guardian_(guardian),
        pid_(pid) {
    executed_.push_back(procfs::executable(pid));
  }

  ExitCode call(bool names_code, const ProgramWork& work) {
    if (names_code) load_libraries(guardian_);
    for (;;) {
      try {
        return work(pid_, guardian_);
      } catch (const UsageError& error) {
        if (!names_code || !guardian_.is_suspended()) throw;
        go_on(error);
      }
    }
  }

 private:
  // Throws `error`, with what was executed, unless the program becomes another one.
  void go_on(const UsageError& error) {
    const std::string directory = fmt::format("/proc/{}/cwd", pid_);
    if (!may_execute_another(procfs::words_of(pid_), directory, paths_)) fail(error, "");
    if (executed_.size() == 1) {
      log::note("{} in {}; the program goes on until it executes another one", error.what(),
                executed_.back());
    }
    try {
      load_libraries(guardian_);
    } catch (const Error& end) {
      fail(error, std::string("; ") + end.what());
    }
    executed_.push_back(procfs::executable(pid_));
  }

  [[noreturn]] void fail(const UsageError& error, const std::string& end) const {
    const bool is_other = !tracee::other_name(name_, executed_.front()).empty();
    if (executed_.size() == 1 && end.empty() && !is_other) throw error;
    throw UsageError(
        fmt::format("{}; looked for in what {} executes: {}{}", error.what(), name_,
                    fmt::join(executed_, ", "), end),
        "child processes are not followed: name the program itself after --, let the script exec "
        "it, or attach to it when it runs. " +
            error.hint());
  }

  std::string name_;
  std::string paths_;  // along which programs are looked for
  tracee::Guardian& guardian_;
  Pid pid_;
  std::vector<std::string> executed_;
};

}  // namespace

ExitCode exit_code_of(int status) {
  return static_cast<ExitCode>(WIFSIGNALED(status) ? kSignalled + WTERMSIG(status)
                                                   : WEXITSTATUS(status));
}

ExitCode told_exit_code(int status) {
  const ExitCode code = exit_code_of(status);
  if (code == ExitCode::ok) return code;
  log::note("the program {}, so causalctl ends with {}",
            WIFSIGNALED(status) ? "was ended by " + name_of_signal(WTERMSIG(status))
                                : fmt::format("ended with exit status {}", WEXITSTATUS(status)),
            static_cast<int>(code));
  return code;
}

void refuse_program_before_dashes(const std::vector<std::string>& words,
                                  const std::vector<std::string>& after_dashes) {
  if (words == after_dashes) return;
  throw UsageError(fmt::format("{} does not come after --", words.front()),
                   fmt::format("a program and its arguments come after --, as in causalctl run "
                               "--progress main -- {}",
                               words.front()));
}

tracee::Launch launch_of(const config::Target& target) {
  return {target.command, target.environment, target.directory};
}

void load_libraries(tracee::Guardian& guardian) {
  const auto obstacle = guardian.run_to_entry();
  if (!obstacle) return;
  log::note(
      "the program was not suspended at its entry point, so nothing in its libraries is known yet: "
      "{}",
      *obstacle);
}

bool end_program(Pid pid, tracee::Guardian& guardian) {
  if (guardian.exit_status()) return true;
  kill(pid, SIGTERM);
  const Nanoseconds begin_ns = monotonic_now();
  while (monotonic_now() - begin_ns < (Interrupts::count() > 0 ? kPatienceOnceAsked : kPatience)) {
    if (guardian.exit_status()) return true;
    sleep_until(monotonic_now() + 10 * kMillisecond);
  }
  log::note("the program (pid {}) has not ended after SIGTERM; it goes on without causalctl", pid);
  return false;
}

AtEnd tell_to_end_at_end(Pid pid) {
  const auto process = std::make_shared<Fd>(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return AtEnd([process] { syscall(SYS_pidfd_send_signal, process->get(), SIGTERM, nullptr, 0); });
}

ExitCode with_program(const config::Target& target, bool names_code, const ProgramWork& work) {
  note_lost_rights(target);
  LeftBehind left;
  tracee::Guardian guardian;
  const Pid pid = guardian.launch(launch_of(target));
  left.started(pid);
  const AtEnd telling = tell_to_end_at_end(pid);
  // Returns the program's own code, if it has ended by itself. Ctrl-C reaches it, too.
  const auto end = [&] {
    const auto status = guardian.exit_status();
    if (status && Interrupts::count() == 0) {
      left.tell();
      return exit_code_of(*status);
    }
    if (guardian.is_suspended() || end_program(pid, guardian)) left.end();
    return ExitCode::ok;
  };
  try {
    const ExitCode code = Started(target, guardian, pid).call(names_code, work);
    const ExitCode its_own = end();
    if (code != ExitCode::ok || its_own == ExitCode::ok) return code;
    return told_exit_code(*guardian.exit_status());
  } catch (...) {
    end();
    throw;
  }
}

}  // namespace causalctl::commands
