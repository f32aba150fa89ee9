#include "controller/tracee/inject/quiesce.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/all_threads.h"
#include "controller/tracee/guardian/priority_boost.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

constexpr int kTrapPerf = 6;  // si_code TRAP_PERF (Linux 5.13), which Debian 12's <signal.h> lacks
// The time after a deadline, counted in sleeps, because a stall may use up all of the time at once.
constexpr Nanoseconds kAfterStall = 300 * kMillisecond;
constexpr std::uint64_t kSigtrapSet = std::uint64_t{1} << (SIGTRAP - 1);

bool in_stub(const StubRange& stub, Address instruction) {
  return instruction >= stub.code_begin && instruction < stub.code_end;
}

// Returns false, too, if the target is gone.
bool any_within(Pid pid, const StubRange& stub) {
  std::vector<Slot> slots((stub.slots_end - stub.slots_begin) / sizeof(Slot));
  return read_memory(pid, stub.slots_begin, std::as_writable_bytes(std::span(slots))) &&
         std::any_of(slots.begin(), slots.end(),
                     [](const Slot& slot) { return slot.entered != slot.left; });
}

// Returns whether the thread is quiescent by the proof without a stop.
bool blocked_and_clean(Pid pid, Tid tid, const StubRange& stub) {
  const auto blocked = [&] {
    const auto now = activity(pid, tid);
    return now && now->kind == Activity::Kind::in_syscall && !in_stub(stub, now->instruction);
  };
  if (!blocked()) return false;
  const auto status = procfs::thread_status(pid, tid);
  if (!status || procfs::has_signal(status->signals_pending, SIGTRAP)) return false;
  return blocked();
}

bool is_ours(const siginfo_t& info, const StubRange& stub) {
  if (info.si_signo != SIGTRAP || info.si_code != kTrapPerf) return false;
  constexpr std::size_t perf_data_offset = 24;
  Address slot = 0;
  std::copy_n(reinterpret_cast<const std::byte*>(&info) + perf_data_offset, sizeof slot,
              reinterpret_cast<std::byte*>(&slot));
  return slot >= stub.slots_begin && slot < stub.slots_end;
}

// Takes a blocked SIGTRAP out of this thread's queue. rt_sigtimedwait takes a thread's own signals
// before those of the process, and a queue holds SIGTRAP once at most, so it takes ours.
bool take_out_blocked_signal(Pid pid, StoppedThread& thread, const StubRange& stub) {
  struct {
    std::uint64_t set = kSigtrapSet;
    timespec timeout{0, 0};
  } arguments;
  if (!write_memory(pid, stub.scratch, std::as_bytes(std::span(&arguments, 1)))) return false;
  const auto result =
      thread.call(SYS_rt_sigtimedwait,
                  {stub.scratch, 0, stub.scratch + sizeof arguments.set, sizeof kSigtrapSet});
  return result && *result == SIGTRAP;
}

// Lets a thread go that is in a PTRACE_EVENT_STOP. Returns whether it is quiescent.
bool inspect_stopped(Pid pid, Tid tid, const StubRange& stub, Address syscall_instruction,
                     std::vector<Tid>& touched) {
  const auto registers = ptrace::registers_if_alive(tid);
  const auto queued = ptrace::queued_signals_if_alive(tid);
  const auto mask = ptrace::signal_mask_if_alive(tid);
  if (!registers || !queued || !mask) return false;
  const bool pending = std::any_of(queued->begin(), queued->end(),
                                   [&](const siginfo_t& info) { return is_ours(info, stub); });
  if (!pending || (*mask & kSigtrapSet) == 0 || in_stub(stub, registers->rip)) {
    const bool quiescent = !pending && !in_stub(stub, registers->rip);
    let_go_if_alive(tid, EventStop{});
    return quiescent;
  }
  auto thread = StoppedThread::take(pid, tid, syscall_instruction);
  if (!thread) return false;
  touched.push_back(tid);
  return take_out_blocked_signal(pid, *thread, stub);
}

class Quiescing {
 public:
  Quiescing(Pid pid, const StubRange& stub, Address syscall_instruction, Tid suspended,
            ForkingThreads& forking, QuiesceLimits& limits, std::vector<Tid>& touched)
      : pid_(pid),
        stub_(stub),
        syscall_instruction_(syscall_instruction),
        suspended_(suspended),
        forking_(forking),
        limits_(limits),
        touched_(touched) {
    const auto tids = all_threads(pid);
    has_others_ = tids.size() > 1;
    for (const Tid tid : tids) {
      if (tid != suspended && !procfs::is_kernel_worker(pid, tid)) waiting_.emplace(tid, Thread{});
    }
  }

  // `spare_ns` is left for sleeps after the deadline.
  bool run(Nanoseconds& spare_ns) {
    const Nanoseconds deadline_ns = limits_.deadline_ns;
    constexpr Nanoseconds pause_ns = kMillisecond;
    constexpr Nanoseconds stop_ns = 50 * kMicrosecond;  // a stopped thread must not wait for us
    while (!waiting_.empty() && (monotonic_now() < deadline_ns || spare_ns > 0)) {
      ask_waiting();
      if (waiting_.empty()) break;
      hurry();
      const Nanoseconds sleep_ns = any_stops() ? stop_ns : pause_ns;
      if (monotonic_now() >= deadline_ns) spare_ns -= sleep_ns;
      sleep_until(monotonic_now() + sleep_ns);
      take_stops();
    }
    // A thread that never stopped is still seized; the guardian's loop lets it go when it stops.
    return waiting_.empty();
  }

 private:
  // A thread that was seen with something of ours in it must run before it is stopped again. On a
  // busy machine it would otherwise meet the next stop before its next instruction, for ever.
  struct Thread {
    bool interrupted = false;  // seized, and its stop is on its way
    Nanoseconds interrupted_ns = 0;
    bool has_ours = false;  // as its last stop has found
    bool hurried = false;   // since then
    Nanoseconds poll_again_ns = 0;
    Nanoseconds patience_ns = 2 * kMillisecond;
  };

  bool any_stops() const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [](const auto& entry) { return entry.second.interrupted; });
  }

  void ask_waiting() {
    const Nanoseconds now_ns = monotonic_now();
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      auto& [tid, thread] = *next;
      const bool due = !thread.interrupted && now_ns >= thread.poll_again_ns;
      const bool quiescent = due && (blocked_and_clean(pid_, tid, stub_) ||
                                     (!spare(tid, thread, now_ns) && !start_stop(tid, thread)));
      next = quiescent ? waiting_.erase(next) : std::next(next);
    }
  }

  // A child that ends while we stop its parent would wake another thread, see docs/safety.md,
  // "Forking targets".
  bool spare(Tid tid, Thread& thread, Nanoseconds now_ns) {
    if (!has_others_ || now_ns >= limits_.deadline_ns || !forking_.contains(tid)) return false;
    if (limits_.spare.over()) return false;
    thread.poll_again_ns = now_ns + kMillisecond;
    return true;
  }

  bool start_stop(Tid tid, Thread& thread) {  // returns false if the thread is gone
    const int error = ptrace::try_seize(tid);
    if (error == 0) {
      if (!ptrace::interrupt_if_alive(tid)) return false;
      thread.interrupted = true;
      thread.interrupted_ns = monotonic_now();
      return true;
    }
    // That is not permitted: it is dying, or traced by another process. The next round polls it
    // again.
    const auto status = procfs::thread_status(pid_, tid);
    return error != ESRCH && status && status->state != 'Z' && status->state != 'X';
  }

  // A thread whose stop waits for a core, or which must run out of the stub, gets one before
  // others; one thread at a time, because one can be noted, and for a moment, because it may sleep
  // uninterruptibly, or go on with its own work.
  void hurry() {
    constexpr Nanoseconds patience_ns = 2 * kMillisecond;
    constexpr Nanoseconds moment_ns = 50 * kMillisecond;
    const Nanoseconds now_ns = monotonic_now();
    if (boost_ && now_ns - boosted_ns_ < moment_ns) return;
    boost_.reset();
    for (auto& [tid, thread] : waiting_) {
      const bool waits = thread.interrupted && now_ns - thread.interrupted_ns >= patience_ns;
      if (thread.hurried || (!waits && !thread.has_ours)) continue;
      limits_.before_boost(tid);
      boost_.emplace(tid);
      boosted_ = tid;
      boosted_ns_ = now_ns;
      thread.hurried = true;
      return;
    }
  }

  void take_stops() {
    constexpr Nanoseconds longest_patience_ns = 256 * kMillisecond;
    while (const auto waited = ptrace::poll_any()) {
      if (waited->tid == suspended_) continue;
      if (boost_ && waited->tid == boosted_) boost_.reset();
      const auto found = waiting_.find(waited->tid);
      if (found == waiting_.end() || std::holds_alternative<Ended>(waited->stop)) {
        let_go_if_alive(waited->tid, waited->stop);
        if (found != waiting_.end()) waiting_.erase(found);
        continue;
      }
      Thread& thread = found->second;
      thread.interrupted = false;
      if (!std::holds_alternative<EventStop>(waited->stop)) {
        let_go_if_alive(waited->tid, waited->stop);  // with its signal, which may be ours
      } else if (inspect_stopped(pid_, waited->tid, stub_, syscall_instruction_, touched_)) {
        waiting_.erase(found);
        continue;
      }
      thread.has_ours = true;
      thread.hurried = false;
      thread.poll_again_ns = monotonic_now() + thread.patience_ns;
      thread.patience_ns = std::min(2 * thread.patience_ns, longest_patience_ns);
    }
  }

  Pid pid_;
  StubRange stub_;
  Address syscall_instruction_;
  Tid suspended_;
  ForkingThreads& forking_;
  QuiesceLimits& limits_;
  bool has_others_ = false;  // threads that could be woken
  std::vector<Tid>& touched_;
  std::map<Tid, Thread> waiting_;  // not quiescent yet
  std::optional<PriorityBoost> boost_;
  Tid boosted_ = 0;
  Nanoseconds boosted_ns_ = 0;
};

}  // namespace

Quiesced quiesce(Pid pid, const StubRange& stub, Address syscall_instruction, Tid suspended,
                 ForkingThreads& forking, QuiesceLimits& limits) {
  Quiesced quiesced;
  Nanoseconds spare_ns = kAfterStall;
  while (monotonic_now() < limits.deadline_ns || spare_ns > 0) {
    Quiescing quiescing(pid, stub, syscall_instruction, suspended, forking, limits,
                        quiesced.touched);
    if (!quiescing.run(spare_ns)) break;
    quiesced.all = !any_within(pid, stub);
    if (quiesced.all) break;
    if (monotonic_now() >= limits.deadline_ns) spare_ns -= kMillisecond;
    sleep_until(monotonic_now() + kMillisecond);
  }
  return quiesced;
}

}  // namespace causalctl::tracee
