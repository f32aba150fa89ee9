#include "controller/tracee/guardian/run_suspended.h"

#include <elf.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/loader.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/tracee/inject/entry_trap.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/process.h"
#include "controller/tracee/ptrace.h"
#include "controller/tracee/stop.h"

namespace causalctl::tracee {
namespace {

constexpr Nanoseconds kSlice = 100 * kMillisecond;
constexpr Nanoseconds kPatienceWithStop = kSecond;

// An untraced thread that executes a program takes the place of the first thread, whose end is all
// that its tracer learns.
[[noreturn]] void throw_ended(Pid child, const char* when = "its first instruction") {
  if (procfs::has_ended(child)) {
    throw TargetGone(fmt::format("process {} ended before {}", child, when));
  }
  throw Error(
      fmt::format("another thread of process {} than its first has executed {}, which causalctl "
                  "cannot suspend before its first instruction",
                  child, procfs::executable(child)),
      "name that program after --, or attach to it when it runs");
}

[[noreturn]] void throw_orphaned() { throw Error("causalctl has ended"); }

bool is_event(const Stop& stop, int event) {
  const auto* stopped = std::get_if<EventStop>(&stop);
  return stopped != nullptr && stopped->event == event;
}

int signal_of(const Stop& stop) {
  const auto* stopped = std::get_if<SignalStop>(&stop);
  return stopped != nullptr ? stopped->signal : 0;
}

// Resumes a child that stands in an event-stop of exec, until the call has returned.
void finish_exec(Pid child) {
  auto stop = std::optional<Stop>(EventStop{});
  int signal = 0;
  do {
    if (stop && !ptrace::resume_if_alive(child, ptrace::Resume::to_syscall, signal)) {
      throw_ended(child);
    }
    stop = ptrace::wait_until(child, monotonic_now() + kSlice);
    if (stop && std::holds_alternative<Ended>(*stop)) throw_ended(child);
    signal = stop ? signal_of(*stop) : 0;
  } while (!stop || !std::holds_alternative<SyscallStop>(*stop));
}

bool is_in_file(Pid child, Address address, const std::string& path) {
  const auto maps = procfs::maps(child);
  return maps && std::any_of(maps->begin(), maps->end(), [&](const procfs::Map& map) {
           return map.start <= address && address < map.end && map.path == path;
         });
}

// One program on its way from its exec to its entry point.
class Way {
 public:
  Way(Pid child, Address entry, Nanoseconds start_ns, Nanoseconds limit_ns)
      : child_(child), start_ns_(start_ns), limit_ns_(limit_ns), trap_(child, entry) {}

  // Returns false if it has executed another program, and is suspended at the exec of that one.
  bool go(const std::function<bool()>& controller_is_gone, bool& told);

 private:
  void let_go();

  Pid child_;
  Nanoseconds start_ns_;
  Nanoseconds limit_ns_;
  EntryTrap trap_;
};

// The program stops at its system calls for the first second, in which nearly all programs are
// loaded, because a call may change the mask, which the trap must leave as it was.
bool Way::go(const std::function<bool()>& controller_is_gone, bool& told) {
  bool stands = true;
  int signal = 0;
  for (;;) {
    const auto how = told ? ptrace::Resume::run : ptrace::Resume::to_syscall;
    if (stands && !ptrace::resume_if_alive(child_, how, signal)) break;
    const auto stop = ptrace::wait_until(child_, monotonic_now() + kSlice);
    stands = stop.has_value();
    if (!stop) {
      if (controller_is_gone()) let_go();
      trap_.note_mask_if_running();
      const Nanoseconds passed_ns = monotonic_now() - start_ns_;
      if (passed_ns >= kSecond && !std::exchange(told, true)) {
        log::note("the program (pid {}) is still loading its libraries", child_);
      }
      if (passed_ns < limit_ns_) continue;
      throw Error(fmt::format("process {} did not come to its entry point within {} s: a library "
                              "works or waits while it is loaded",
                              child_, limit_ns_ / kSecond),
                  "start the program by itself, then causalctl attach");
    }
    if (std::holds_alternative<Ended>(*stop)) break;
    signal = signal_of(*stop);
    if (std::holds_alternative<SyscallStop>(*stop)) {
      trap_.note_mask();
      continue;
    }
    if (signal == SIGTRAP && trap_.has_sprung()) {
      if (!trap_.take_out()) break;
      return true;
    }
    if (is_event(*stop, PTRACE_EVENT_EXEC)) {
      if (!trap_.forget()) break;
      finish_exec(child_);
      return false;
    }
    if (is_event(*stop, PTRACE_EVENT_FORK) || is_event(*stop, PTRACE_EVENT_VFORK) ||
        is_event(*stop, PTRACE_EVENT_CLONE)) {
      trap_.spare_the_child();
    }
  }
  trap_.expect_no_more();
  throw_ended(child_);
}

// Lets it go on by itself, as it would have without us. It must stop for that, or it is killed.
void Way::let_go() {
  if (ptrace::interrupt_if_alive(child_)) {
    const auto stop = ptrace::wait_until(child_, monotonic_now() + kPatienceWithStop);
    if (stop && std::holds_alternative<Ended>(*stop)) trap_.expect_no_more();
    if (stop && !std::holds_alternative<Ended>(*stop)) {
      const bool sprung = signal_of(*stop) == SIGTRAP && trap_.has_sprung();
      if (trap_.take_out()) let_go_if_alive(child_, sprung ? Stop(EventStop{}) : *stop);
    }
  }
  throw_orphaned();
}

// musl's loader leaves the auxiliary vector as it is.
bool is_correcting_loader(const std::string& executable) {
  return is_loader(executable) && executable.find("ld-musl") == std::string::npos;
}

// Runs a loader that is suspended at its own entry point until it has mapped its program, whose
// entry point is returned; glibc's writes it into the auxiliary vector before it loads libraries.
// Returns the reason where that is not to be had, and 0 after the exec of another program.
std::variant<Address, std::string> run_to_mapped_program(
    Pid child, const std::function<bool()>& controller_is_gone, Nanoseconds deadline_ns) {
  const Address own_entry = procfs::entry_point(child);
  const std::string loader = procfs::executable(child);
  const auto read = [child](Address address, std::span<std::byte> bytes) {
    return read_memory(child, address, bytes);
  };
  const auto stat = procfs::thread_stat(child, child);
  const Address stack = stat ? procfs::parse_stack_begin(*stat) : 0;
  bool stands = true;
  int signal = 0;
  for (;;) {
    if (stands && !ptrace::resume_if_alive(child, ptrace::Resume::to_syscall, signal)) {
      throw_ended(child);
    }
    const auto stop = ptrace::wait_until(child, monotonic_now() + kSlice);
    stands = stop.has_value();
    if (!stop) {
      if (controller_is_gone()) throw_orphaned();
      if (monotonic_now() < deadline_ns) continue;
      throw Error(fmt::format("the loader of process {} has not mapped its program in time", child),
                  "start the program by itself, then causalctl attach");
    }
    if (std::holds_alternative<Ended>(*stop)) throw_ended(child);
    signal = signal_of(*stop);
    if (is_event(*stop, PTRACE_EVENT_EXEC)) {
      finish_exec(child);
      return Address{0};
    }
    if (!std::holds_alternative<SyscallStop>(*stop)) continue;
    const Address entry = auxiliary_on_stack(stack, AT_ENTRY, read);
    if (entry != 0 && entry != own_entry) return entry;
    const auto registers = ptrace::registers_if_alive(child);
    if (!registers) throw_ended(child);
    if (!is_in_file(child, registers->rip, loader)) {
      return "its loader does not say where the program begins";
    }
  }
}

}  // namespace

void run_to_exec(Pid child, const std::function<bool()>& controller_is_gone) {
  constexpr Nanoseconds limit_ns = 60 * kSecond;
  const Nanoseconds deadline_ns = monotonic_now() + limit_ns;
  for (;;) {
    const auto stop = ptrace::wait_until(child, monotonic_now() + kSlice);
    if (!stop) {
      if (controller_is_gone()) throw_orphaned();
      if (monotonic_now() < deadline_ns) continue;
      throw Error(fmt::format("process {} has not executed a program within {} s", child,
                              limit_ns / kSecond));
    }
    if (std::holds_alternative<Ended>(*stop)) {
      throw_ended(child, "it executed a program");
    }
    if (is_event(*stop, PTRACE_EVENT_EXEC)) return finish_exec(child);
    if (!ptrace::resume_if_alive(child, ptrace::Resume::run, signal_of(*stop))) throw_ended(child);
  }
}

std::optional<std::string> run_to_entry(Pid child, const std::function<bool()>& controller_is_gone,
                                        Nanoseconds limit_ns) {
  const Nanoseconds start_ns = monotonic_now();
  bool told = false;
  for (;;) {
    Address entry = procfs::entry_point(child);
    const auto status = procfs::status(child);
    const auto registers = ptrace::registers_if_alive(child);
    if (!registers) throw_ended(child);
    if (!status || entry == 0) return "its auxiliary vector cannot be read";
    if (registers->rip == entry) {  // it has no loader, or is one
      if (!is_correcting_loader(procfs::executable(child))) return std::nullopt;
      const auto program = run_to_mapped_program(child, controller_is_gone, start_ns + limit_ns);
      if (const auto* reason = std::get_if<std::string>(&program)) return *reason;
      entry = std::get<Address>(program);
      if (entry == 0) continue;
    }
    // The trap would set an ignored SIGTRAP to its default.
    if (procfs::has_signal(status->signals_ignored, SIGTRAP)) return "it ignores SIGTRAP";
    if (Way(child, entry, start_ns, limit_ns).go(controller_is_gone, told)) return std::nullopt;
  }
}

}  // namespace causalctl::tracee
