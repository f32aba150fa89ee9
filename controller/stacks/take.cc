#include "controller/stacks/take.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <system_error>
#include <utility>

#include "controller/base/thread.h"
#include "controller/symbols/kernel_symbols.h"
#include "controller/tracee/all_threads.h"
#include "controller/tracee/guardian/priority_boost.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/process.h"
#include "controller/tracee/reference_walk.h"
#include "unwind/modules/target_memory.h"
#include "unwind/stack/blocked_stack.h"

namespace causalctl::stacks {
namespace {

using report::stacks::Taken;
using tracee::StopOutcome;

constexpr int kTries = 3;  // to read a thread that wakes again and again
constexpr Nanoseconds kPatience = 500 * kMillisecond;
constexpr std::size_t kUnmappedCopy = 64U << 10U;  // of a stack that was mapped just now

class SigchldBlocked {
 public:
  SigchldBlocked() {
    sigset_t child{};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before_);
  }
  ~SigchldBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SigchldBlocked(const SigchldBlocked&) = delete;
  SigchldBlocked& operator=(const SigchldBlocked&) = delete;

 private:
  sigset_t before_{};
};

unwind::Registers to_unwind(const tracee::ptrace::Registers& from) {
  unwind::Registers to;
  const auto set = [&to](unsigned number, std::uint64_t value) { to.values[number] = value; };
  set(PERF_REG_X86_AX, from.rax);
  set(PERF_REG_X86_BX, from.rbx);
  set(PERF_REG_X86_CX, from.rcx);
  set(PERF_REG_X86_DX, from.rdx);
  set(PERF_REG_X86_SI, from.rsi);
  set(PERF_REG_X86_DI, from.rdi);
  set(PERF_REG_X86_BP, from.rbp);
  set(PERF_REG_X86_SP, from.rsp);
  set(PERF_REG_X86_IP, from.rip);
  set(PERF_REG_X86_FLAGS, from.eflags);
  set(PERF_REG_X86_R8, from.r8);
  set(PERF_REG_X86_R9, from.r9);
  set(PERF_REG_X86_R10, from.r10);
  set(PERF_REG_X86_R11, from.r11);
  set(PERF_REG_X86_R12, from.r12);
  set(PERF_REG_X86_R13, from.r13);
  set(PERF_REG_X86_R14, from.r14);
  set(PERF_REG_X86_R15, from.r15);
  return to;
}

// Returns false if the thread is gone.
bool describe(Pid pid, ThreadState& thread) {
  const auto status = procfs::thread_status(pid, thread.tid);
  if (!status) return false;
  thread.name = status->name;
  thread.state = status->state;
  thread.cpu_ns = procfs::cpu_time(pid, thread.tid).value_or(0);
  if (status->state == 'Z') thread.problem = "it has ended, while other threads go on";
  return status->state != 'X';
}

// Returns false if the thread is gone.
bool take_blocked(Pid pid, ThreadState& thread, const std::vector<procfs::Map>& maps) {
  for (int i = 0; i < kTries; ++i) {
    if (!describe(pid, thread)) return false;
    if (thread.state == 'R' || thread.state == 'Z') return true;
    auto blocked = unwind::read_blocked_stack(pid, thread.tid, maps);
    if (!blocked) continue;
    thread.state = blocked->state;
    thread.at = blocked->at;
    thread.registers = blocked->registers();
    thread.stack = std::move(blocked->stack);
    thread.taken = Taken::without_stop;
    return true;
  }
  return true;
}

// State and stack are of one moment, that of the stop. A signal or a tracer that has stopped the
// thread before is the state still.
void describe_stopped(const tracee::ptrace::Registers& from, ThreadState& thread) {
  if (thread.state == 'T' || thread.state == 't') return;
  const bool in_call = tracee::interrupted_syscall(from);
  thread.state = in_call ? 'S' : 'R';
  if (!in_call) {
    thread.at.reset();
    return;
  }
  // A call that a stop before this one has interrupted goes on as restart_syscall.
  const bool same = thread.at && thread.at->number >= 0 && from.orig_rax == SYS_restart_syscall &&
                    thread.at->stack_pointer == from.rsp && thread.at->instruction == from.rip;
  if (same) return;
  thread.at = procfs::OffCore{static_cast<long>(from.orig_rax),
                              {from.rdi, from.rsi, from.rdx, from.r10, from.r8, from.r9},
                              from.rsp,
                              from.rip};
}

std::string why_refused(Pid pid, Tid tid) {
  const auto status = procfs::thread_status(pid, tid);
  if (!status || status->tracer_pid == 0) return "the kernel does not permit to stop it";
  return fmt::format("process {} ({}) traces it, and a thread has one tracer", status->tracer_pid,
                     tracee::process_name(status->tracer_pid));
}

void stop_one(Pid pid, ThreadState& thread, const Look& look, tracee::BriefStops& stops) {
  // Such a thread may stay in the kernel for long, and would stop, and stand still, at its end.
  if (thread.state == 'D') {
    thread.problem = "it is in the kernel, where nothing can stop it";
    return;
  }
  tracee::StopTimes times;
  const auto outcome = stops.stop(
      thread.tid, kPatience,
      [&](const tracee::ptrace::Registers& registers) {
        describe_stopped(registers, thread);
        thread.registers = to_unwind(registers);
        thread.stack.clear();
        thread.walk.reset();
        // It bounds the stack (bytes_of_stack()).
        thread.registers.values[PERF_REG_X86_FS] = registers.fs_base;
        look(thread);
      },
      times);
  if (outcome == StopOutcome::done) {
    thread.taken = Taken::in_a_stop;
    thread.problem.clear();
    thread.times.held_ns += times.held_ns;
    thread.times.at_most_ns += times.at_most_ns;
  } else if (outcome == StopOutcome::refused) {
    thread.problem = why_refused(pid, thread.tid);
  } else if (outcome == StopOutcome::late) {
    thread.problem =
        fmt::format("it did not stop within {} ms: it is in the kernel, or gets no core",
                    kPatience / kMillisecond);
  } else {
    thread.problem = "it ended meanwhile";
    thread.gone = true;
  }
}

void copy_stack(ThreadState& thread, const std::vector<procfs::Map>& maps) {
  const Address sp = thread.registers.values[PERF_REG_X86_SP];
  const std::size_t mapped =
      unwind::bytes_of_stack(maps, sp, thread.registers.values[PERF_REG_X86_FS]);
  thread.stack.resize(mapped > 0 ? mapped : kUnmappedCopy);
  thread.stack.resize(unwind::read_target_until_gap(thread.tid, sp, thread.stack));
}

}  // namespace

Walk walk_of(const unwind::Chain& chain) {
  Walk walk;
  for (const unwind::UnwoundFrame& frame : chain.frames) walk.chain.push_back(frame.ip);
  walk.complete = chain.complete();
  walk.searched = unwind::has_guess(chain);
  walk.from_copy = chain.from_copy;
  walk.goes_on =
      chain.end == unwind::ChainEnd::copy_short || chain.end == unwind::ChainEnd::unreadable;
  return walk;
}

std::vector<ThreadState> threads_of(Pid pid, bool read_blocked) {
  const auto maps = procfs::maps(pid).value_or(std::vector<procfs::Map>{});
  std::vector<ThreadState> threads;
  for (const Tid tid : tracee::all_threads(pid)) {
    if (procfs::is_kernel_worker(pid, tid)) continue;
    ThreadState thread;
    thread.tid = tid;
    if (!(read_blocked ? take_blocked(pid, thread, maps) : describe(pid, thread))) continue;
    if (!read_blocked) thread.at = unwind::off_core(pid, tid);
    threads.push_back(std::move(thread));
  }
  return threads;
}

void take_kernel_stacks(Pid pid, std::vector<ThreadState>& threads) {
  for (ThreadState& thread : threads) {
    if (!thread.at) continue;
    const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/stack", pid, thread.tid));
    if (!text || unwind::off_core(pid, thread.tid) != thread.at) continue;
    thread.kernel = procfs::parse_kernel_stack(*text);
    while (!thread.kernel.empty() && symbols::is_kernel_entry(thread.kernel.back())) {
      thread.kernel.pop_back();
    }
  }
}

std::string why_no_kernel_stacks() {
  if (procfs::read_text("/proc/thread-self/stack")) return {};
  return fmt::format("functions of the kernel (--kernel) cannot be read: {}; they need root",
                     std::generic_category().message(errno));
}

Look copies_stack(Pid pid) {
  return [maps = procfs::maps(pid).value_or(std::vector<procfs::Map>{})](ThreadState& thread) {
    copy_stack(thread, maps);
  };
}

Look unwinds(unwind::Unwinder& unwinder, Pid pid) {
  return [copy = copies_stack(pid), &unwinder](ThreadState& thread) {
    copy(thread);
    unwinder.set_stopped(true);
    Walk walk = walk_of(unwinder.unwind_chain(thread.registers, thread.stack, kDeepest));
    unwinder.set_stopped(false);
    walk.from_copy = true;  // since nothing can change meanwhile
    thread.walk = std::move(walk);
  };
}

Look unwinds_for_reference() {
  return [](ThreadState& thread) {
    auto reference = tracee::reference_walk(thread.tid, kDeepest);
    thread.walk = Walk{std::move(reference.chain), reference.complete, false, true};
  };
}

void take_in_stops(Pid pid, const std::vector<ThreadState*>& threads, const Look& look) {
  if (threads.empty()) return;
  const SigchldBlocked blocked;
  std::packaged_task<void()> stop_all([&] {
    const tracee::PriorityBoost boost(0);  // of ours, so that a stop does not last a time slice
    tracee::BriefStops stops;
    for (ThreadState* thread : threads) {
      if (thread->state != 'Z') stop_one(pid, *thread, look, stops);
    }
  });
  // A thread of its own, because the kernel lets all go that a thread has seized when that ends.
  start_thread("stops of the target's threads", [&] { stop_all(); }).join();
  stop_all.get_future().get();
}

}  // namespace causalctl::stacks
