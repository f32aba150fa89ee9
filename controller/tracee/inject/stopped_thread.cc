#include "controller/tracee/inject/stopped_thread.h"

#include <linux/rseq.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/tracee/inject/stub.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

StoppedCalls counted;  // by this process

constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};
constexpr long kErestartsys = 512;           // <linux/errno.h> of the kernel: never seen by user
constexpr long kErestartRestartblock = 516;  // code, but by tracers
constexpr std::uint64_t kUserCode64 = 0x33;  // the segment of 64-bit code

// Without a tracer the kernel drops an ignored signal when it is sent, and no system call sees it.
// For a tracee it is queued (SIGCHLD at a child's end, say), so an EINTR would be our doing.
std::uint64_t ignored_signals(const procfs::Status& status) {
  return dropped_signals(status.signals_ignored, status.signals_caught);
}

bool deliverable_signal_pending(Pid pid, Tid tid) {
  const auto status = procfs::thread_status(pid, tid);
  if (!status) return true;
  const auto pending = status->signals_pending | status->signals_pending_shared;
  return (pending & ~status->signals_blocked & ~ignored_signals(*status)) != 0;
}

bool is_ignored(Tid tid, int signal) {
  const auto status = procfs::thread_status(tid, tid);
  return status && procfs::has_signal(ignored_signals(*status), signal);
}

bool in_restartable_sequence(Pid pid, Tid tid, Address instruction) {
  const auto area = ptrace::rseq_if_alive(tid);
  if (!area || area->address == 0) return false;
  const auto section = read_object<Address>(pid, area->address + offsetof(struct rseq, rseq_cs));
  if (!section || *section == 0) return false;
  const auto descriptor = read_object<struct rseq_cs>(pid, *section);
  return descriptor && instruction - descriptor->start_ip < descriptor->post_commit_offset;
}

bool has_seccomp(Tid tid) {
  const auto status = procfs::thread_status(tid, tid);
  return status && status->seccomp != 0;
}

// A filter would judge the calls that we make, and may end the target for them.
bool free_of_seccomp(Tid tid) { return !has_seccomp(tid) || ptrace::try_suspend_seccomp(tid); }

// The target may have executed another program since the instruction was found.
bool is_syscall_instruction(Pid pid, Address address) {
  const auto code = read_object<std::array<std::uint8_t, 2>>(pid, address);
  return code && (*code)[0] == 0x0f && (*code)[1] == 0x05;
}

bool usable(Pid pid, Tid tid, const ptrace::Registers& registers, Address syscall_instruction) {
  return registers.cs == kUserCode64 && registers.rip != 0 &&
         is_syscall_instruction(pid, syscall_instruction) &&
         (static_cast<long>(registers.orig_rax) >= 0 ||
          !in_restartable_sequence(pid, tid, registers.rip)) &&
         free_of_seccomp(tid);
}

bool is_traced_by_us(Pid pid, Tid tid) {
  const auto status = procfs::thread_status(pid, tid);
  return status && status->tracer_pid == getpid();
}

}  // namespace

bool interrupted_syscall(const ptrace::Registers& registers) {
  if (static_cast<long>(registers.orig_rax) < 0) return false;
  const long result = static_cast<long>(registers.rax);
  return result == -EINTR || (result <= -kErestartsys && result >= -kErestartRestartblock);
}

ptrace::Registers with_syscall_rewound(ptrace::Registers registers, bool seccomp) {
  constexpr unsigned syscall_length = 2;
  const bool in_syscall = static_cast<long>(registers.orig_rax) >= 0;
  const long result = static_cast<long>(registers.rax);
  // An interrupted close(2) has closed the descriptor, which may be another thread's by now.
  if (registers.orig_rax == SYS_close) return registers;
  if (in_syscall && (result == -EINTR || (seccomp && result == -kErestartRestartblock))) {
    registers.rax = registers.orig_rax;
    registers.rip -= syscall_length;
    registers.orig_rax = static_cast<std::uint64_t>(-1);
  }
  return registers;
}

bool cut_short(const ptrace::Registers& registers) {
  const auto call = static_cast<long>(registers.orig_rax);
  const auto written = static_cast<long>(registers.rax);
  return (call == SYS_write || call == SYS_pwrite64 || call == SYS_sendto) && written > 0 &&
         static_cast<std::uint64_t>(written) < registers.rdx;
}

StoppedCalls met_by_stop(const ptrace::Registers& registers, bool seccomp) {
  StoppedCalls met;
  met.shortened = cut_short(registers) ? 1 : 0;
  if (!interrupted_syscall(registers)) return met;
  if (with_syscall_rewound(registers, seccomp).rip != registers.rip) {
    ++met.repeated;
  } else if (static_cast<long>(registers.rax) == -EINTR) {
    ++met.broken;
  } else {
    ++met.continued;
  }
  return met;
}

StoppedCalls stopped_calls() { return counted; }

void let_go_if_alive(Tid tid, const Stop& stop) {
  if (std::holds_alternative<Ended>(stop)) return;
  const auto* signal = std::get_if<SignalStop>(&stop);
  if (signal != nullptr && !is_ignored(tid, signal->signal)) {
    ptrace::detach_if_alive(tid, signal->signal);
    return;
  }
  // If a signal is pending, it is the reason why a call returned EINTR, which is then the truth.
  const auto registers = ptrace::registers_if_alive(tid);
  const bool met = registers && (interrupted_syscall(*registers) || cut_short(*registers));
  if (met && !deliverable_signal_pending(tid, tid)) {
    const bool seccomp = has_seccomp(tid);
    counted += met_by_stop(*registers, seccomp);
    (void)ptrace::set_registers_if_alive(tid, with_syscall_rewound(*registers, seccomp));
  }
  ptrace::detach_if_alive(tid, 0);
}

std::optional<StoppedThread> StoppedThread::stop(Pid pid, Tid tid, Address syscall_instruction,
                                                 Nanoseconds deadline_ns, bool* dispatches) {
  const bool seized = ptrace::try_seize(tid) == 0;
  // An earlier try may have run out of time. Its stop comes as soon as the thread can, and is
  // waited for again; otherwise the thread would stay stopped.
  if (!seized && !is_traced_by_us(pid, tid)) return std::nullopt;
  std::optional<Boosts> boosts{{PriorityBoost(0), PriorityBoost(tid)}};
  if (seized && !ptrace::interrupt_if_alive(tid)) return std::nullopt;
  for (;;) {
    const auto stop = ptrace::wait_until(tid, deadline_ns);
    if (!stop || std::holds_alternative<Ended>(*stop)) return std::nullopt;
    if (std::holds_alternative<EventStop>(*stop)) {
      auto thread = take(pid, tid, syscall_instruction, dispatches);
      if (thread) thread->boosts_.emplace(std::move(*boosts));
      return thread;
    }
    // A signal came first. The interrupt, which is still due, follows once that is delivered.
    const auto* signal = std::get_if<SignalStop>(&*stop);
    if (!ptrace::resume_if_alive(tid, ptrace::Resume::run, signal != nullptr ? signal->signal : 0))
      return std::nullopt;
  }
}

std::optional<StoppedThread> StoppedThread::take(Pid pid, Tid tid, Address syscall_instruction,
                                                 bool* dispatches) {
  const auto registers = ptrace::registers_if_alive(tid);
  if (!registers) return std::nullopt;
  const bool own_dispatch = ptrace::dispatches_syscalls(tid);
  if (dispatches != nullptr) *dispatches = own_dispatch;
  if (own_dispatch || deliverable_signal_pending(pid, tid) ||
      !usable(pid, tid, *registers, syscall_instruction)) {
    let_go_if_alive(tid, EventStop{});
    return std::nullopt;
  }
  return StoppedThread(tid, *registers, syscall_instruction);
}

std::optional<StoppedThread> StoppedThread::take_suspended(Pid pid, Tid tid,
                                                           Address syscall_instruction) {
  const auto registers = ptrace::registers_if_alive(tid);
  if (!registers || interrupted_syscall(*registers) || ptrace::dispatches_syscalls(tid) ||
      !usable(pid, tid, *registers, syscall_instruction)) {
    return std::nullopt;
  }
  StoppedThread thread(tid, *registers, syscall_instruction);
  thread.keep();
  return thread;
}

StoppedThread::StoppedThread(StoppedThread&& other) noexcept
    : tid_(std::exchange(other.tid_, 0)),
      kept_(other.kept_),
      saved_(other.saved_),
      syscall_instruction_(other.syscall_instruction_),
      saved_mask_(other.saved_mask_),
      boosts_(std::move(other.boosts_)) {}

StoppedThread::~StoppedThread() {
  if (tid_ == 0) return;
  const auto attempt = [this](const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {
      log::note("letting thread {} go: {}", tid_, error.what());
    }
  };
  attempt([this] { (void)restore_if_alive(); });
  if (boosts_) boosts_->thread.end();
  if (!kept_) attempt([this] { ptrace::detach_if_alive(tid_, 0); });
}

bool StoppedThread::restore_if_alive() {
  const bool seccomp = has_seccomp(tid_);
  counted += met_by_stop(saved_, seccomp);
  const auto registers = with_syscall_rewound(saved_, seccomp);
  return ptrace::set_registers_if_alive(tid_, registers) &&
         (!saved_mask_ || ptrace::set_signal_mask_if_alive(tid_, *saved_mask_));
}

std::optional<long> StoppedThread::call(long number,
                                        std::initializer_list<std::uint64_t> arguments) {
  if (!saved_mask_) {
    saved_mask_ = ptrace::signal_mask_if_alive(tid_);
    if (!saved_mask_ || !ptrace::set_signal_mask_if_alive(tid_, kAllSignals)) return std::nullopt;
  }
  std::array<std::uint64_t, 6> values{};
  INVARIANT(arguments.size() <= values.size());
  std::copy(arguments.begin(), arguments.end(), values.begin());
  ptrace::Registers registers = saved_;
  registers.rip = syscall_instruction_;
  registers.rax = static_cast<std::uint64_t>(number);
  registers.orig_rax = static_cast<std::uint64_t>(-1);
  registers.rdi = values[0];
  registers.rsi = values[1];
  registers.rdx = values[2];
  registers.r10 = values[3];
  registers.r8 = values[4];
  registers.r9 = values[5];
  if (!ptrace::set_registers_if_alive(tid_, registers)) return std::nullopt;

  // There is no bound, because giving up would leave the thread with our registers. The calls made
  // here do not block, so this ends when the thread gets a core, or dies.
  constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();
  int signal = 0;
  for (;;) {
    if (!ptrace::resume_if_alive(tid_, ptrace::Resume::to_syscall, signal)) return std::nullopt;
    const auto stop = ptrace::wait_until(tid_, never);
    if (!stop || std::holds_alternative<Ended>(*stop)) {
      tid_ = 0;
      return std::nullopt;
    }
    // Only SIGSTOP can come, because all other signals are blocked. It is passed on, and stops the
    // other threads now and this one after the detach (the kernel reinstates a group-stop in
    // effect).
    const auto* signal_stop = std::get_if<SignalStop>(&*stop);
    signal = signal_stop != nullptr ? signal_stop->signal : 0;
    if (!std::holds_alternative<SyscallStop>(*stop)) continue;
    const auto phase = ptrace::syscall_phase_if_alive(tid_);
    if (!phase) return std::nullopt;
    if (*phase != ptrace::SyscallPhase::exit) continue;
    const auto after = ptrace::registers_if_alive(tid_);
    if (!after) return std::nullopt;
    return static_cast<long>(after->rax);
  }
}

}  // namespace causalctl::tracee
