#include "controller/tracee/ptrace.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "controller/base/clock.h"
#include "controller/base/error.h"

namespace causalctl::tracee::ptrace {
namespace {

// The C library's prototype is variadic over an enum; this is the system call's shape.
long raw(__ptrace_request request, Tid tid, std::uint64_t address, std::uint64_t data) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel takes integers here
  return ::ptrace(request, tid, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
}

std::uint64_t pointer(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

// An aligned word is within one page.
Address word_of(Address address) { return address & ~Address{sizeof(std::uint64_t) - 1}; }

// A tracee in the midst of a call of ours must not keep our registers. Where something in between
// (a security module, a filter) makes a request fail, it is made once more before it counts.
long insist(__ptrace_request request, Tid tid, std::uint64_t address, std::uint64_t data) {
  const long result = raw(request, tid, address, data);
  return result >= 0 ? result : raw(request, tid, address, data);
}

// The same holds for waits: a tracee that is taken for ended would keep our registers.
pid_t insist_on_wait(Tid tid, int& status) {
  const pid_t waited = ::waitpid(tid, &status, __WALL | WNOHANG);
  return waited >= 0 ? waited : ::waitpid(tid, &status, __WALL | WNOHANG);
}

// Returns true if the call succeeded, false if the thread is gone.
bool if_alive(const char* name, __ptrace_request request, Tid tid, std::uint64_t address,
              std::uint64_t data) {
  if (insist(request, tid, address, data) >= 0) return true;
  if (errno == ESRCH) return false;
  throw Error::from_errno(fmt::format("ptrace({}, tid {})", name, tid), errno);
}

}  // namespace

int try_seize(Tid tid, bool stop_at_exec) {
  const std::uint64_t options =
      PTRACE_O_TRACESYSGOOD | (stop_at_exec ? std::uint64_t{PTRACE_O_TRACEEXEC} : 0);
  return raw(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : errno;
}

bool try_suspend_seccomp(Tid tid) {
  constexpr std::uint64_t suspend_seccomp = 1 << 21;  // PTRACE_O_SUSPEND_SECCOMP
  return raw(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_TRACESYSGOOD | suspend_seccomp) == 0;
}

bool guard_if_alive(Tid tid, bool guarded) {
  std::uint64_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
  if (guarded) {
    options |= PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
  }
  return if_alive("PTRACE_SETOPTIONS", PTRACE_SETOPTIONS, tid, 0, options);
}

bool interrupt_if_alive(Tid tid) {
  return if_alive("PTRACE_INTERRUPT", PTRACE_INTERRUPT, tid, 0, 0);
}

bool resume_if_alive(Tid tid, Resume how, int signal) {
  const auto request = how == Resume::run ? PTRACE_CONT : PTRACE_SYSCALL;
  return if_alive("PTRACE_CONT", request, tid, 0, static_cast<std::uint64_t>(signal));
}

bool detach_if_alive(Tid tid, int signal) {
  return if_alive("PTRACE_DETACH", PTRACE_DETACH, tid, 0, static_cast<std::uint64_t>(signal));
}

std::optional<Registers> registers_if_alive(Tid tid) {
  Registers registers{};
  iovec area{&registers, sizeof registers};
  if (!if_alive("PTRACE_GETREGSET", PTRACE_GETREGSET, tid, NT_PRSTATUS, pointer(&area))) {
    return std::nullopt;
  }
  return registers;
}

bool set_registers_if_alive(Tid tid, const Registers& registers) {
  Registers copy = registers;
  iovec area{&copy, sizeof copy};
  return if_alive("PTRACE_SETREGSET", PTRACE_SETREGSET, tid, NT_PRSTATUS, pointer(&area));
}

std::optional<std::uint64_t> signal_mask_if_alive(Tid tid) {
  std::uint64_t mask = 0;
  if (!if_alive("PTRACE_GETSIGMASK", PTRACE_GETSIGMASK, tid, sizeof mask, pointer(&mask))) {
    return std::nullopt;
  }
  return mask;
}

bool set_signal_mask_if_alive(Tid tid, std::uint64_t mask) {
  return if_alive("PTRACE_SETSIGMASK", PTRACE_SETSIGMASK, tid, sizeof mask, pointer(&mask));
}

std::optional<Tid> made_if_alive(Tid tid) {
  unsigned long made = 0;
  if (!if_alive("PTRACE_GETEVENTMSG", PTRACE_GETEVENTMSG, tid, 0, pointer(&made))) {
    return std::nullopt;
  }
  return static_cast<Tid>(made);
}

std::optional<std::uint64_t> word_if_alive(Tid tid, Address address) {
  // The C library returns the word itself, and says by errno whether it is one.
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    const auto word = static_cast<std::uint64_t>(raw(PTRACE_PEEKTEXT, tid, word_of(address), 0));
    if (errno == 0) return word;
    if (errno == ESRCH) return std::nullopt;
  }
  throw Error::from_errno(fmt::format("ptrace(PTRACE_PEEKTEXT, tid {})", tid), errno);
}

bool set_word_if_alive(Tid tid, Address address, std::uint64_t word) {
  return if_alive("PTRACE_POKETEXT", PTRACE_POKETEXT, tid, word_of(address), word);
}

std::optional<SyscallPhase> syscall_phase_if_alive(Tid tid) {
  __ptrace_syscall_info info{};
  if (!if_alive("PTRACE_GET_SYSCALL_INFO", PTRACE_GET_SYSCALL_INFO, tid, sizeof info,
                pointer(&info))) {
    return std::nullopt;
  }
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) return SyscallPhase::entry;
  if (info.op == PTRACE_SYSCALL_INFO_EXIT) return SyscallPhase::exit;
  return SyscallPhase::none;
}

std::optional<std::vector<siginfo_t>> queued_signals_if_alive(Tid tid) {
  std::array<siginfo_t, 64> infos{};
  __ptrace_peeksiginfo_args range{0, 0, static_cast<std::int32_t>(infos.size())};
  const long count = insist(PTRACE_PEEKSIGINFO, tid, pointer(&range), pointer(infos.data()));
  if (count < 0) {
    if (errno == ESRCH) return std::nullopt;
    throw Error::from_errno(fmt::format("ptrace(PTRACE_PEEKSIGINFO, tid {})", tid), errno);
  }
  return std::vector<siginfo_t>(infos.begin(), infos.begin() + count);
}

std::optional<RseqArea> rseq_if_alive(Tid tid) {
  __ptrace_rseq_configuration configuration{};
  if (insist(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof configuration, pointer(&configuration)) >=
      0) {
    return RseqArea{configuration.rseq_abi_pointer};
  }
  if (errno == ESRCH) return std::nullopt;
  return RseqArea{};  // the kernel has no rseq, or is older than 5.13
}

bool dispatches_syscalls(Tid tid) {
  constexpr auto get_dispatch = static_cast<__ptrace_request>(0x4211);  // Linux 6.4
  struct {
    std::uint64_t mode, selector, offset, length;
  } config{};
  return raw(get_dispatch, tid, sizeof config, pointer(&config)) >= 0 && config.mode != 0;
}

std::optional<Stop> wait_until(Tid tid, Nanoseconds deadline_ns) {
  // It waits in slices, because another wait may have consumed the SIGCHLD of this tracee.
  constexpr Nanoseconds slice_ns = 5 * kMillisecond;
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  for (;;) {
    int status = 0;
    const pid_t waited = insist_on_wait(tid, status);
    if (waited == tid) return decode_stop(status);
    if (waited < 0 && errno != EINTR) return Ended{};
    const Nanoseconds left_ns = deadline_ns - monotonic_now();
    if (left_ns <= 0) return std::nullopt;
    const timespec timeout{0, std::min(left_ns, slice_ns)};
    sigtimedwait(&child, nullptr, &timeout);
  }
}

std::optional<Waited> poll_any() {
  int status = 0;
  const pid_t waited = ::waitpid(-1, &status, __WALL | WNOHANG);
  if (waited <= 0) return std::nullopt;
  return Waited{waited, decode_stop(status)};
}

std::optional<int> reap_if_ended(Pid child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  return status;
}

}  // namespace causalctl::tracee::ptrace
