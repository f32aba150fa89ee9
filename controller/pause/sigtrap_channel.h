// Pauses by the injected stub. Each thread has a perf task-clock event with `sigtrap` set, created
// disabled; PERF_EVENT_IOC_REFRESH(1) arms one shot, which sends SIGTRAP when the thread has run 50
// µs more and is in user code. The handler, stub.S, sleeps, or spins, until its slot's paid_total
// reaches owed_total. No system call is ever interrupted: a thread that blocks instead meets the
// shot right after its wake-up, by then too late (PauserOptions::stale_after_ns), and the stub
// returns at once.
//
// Invariants: a slot's owed_total is what was reported by collect() plus the debt last set, so a
// debt means the same whether or not the pause that pays it has been reported yet. A thread is
// armed at most once, because REFRESH adds up: arming an armed thread would make a storm of
// signals. When `left` has moved, the shot is spent.
//
// A target that resets SIGTRAP to its default would be ended by the next shot, and one that puts
// itself under seccomp perhaps by the stub's system calls. Then shots are suppressed in the kernel
// (shot_filter.h). Where that is impossible, /proc is read of the thread before each arming, and of
// the first thread in each tick in which a shot is under way. Either way the channel gives up for
// good: all events are closed, and every pause is made by ptrace.
//
// A thread that blocks SIGTRAP would get it in the midst of a call of its own that waits for
// signals (ppoll, sigwait). It is not shot, and if it blocks SIGTRAP for long it is paused by
// ptrace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/pause/pauser.h"
#include "controller/pause/ptrace_channel.h"
#include "controller/pause/ptrace_reasons.h"
#include "controller/pause/shot_filter.h"
#include "controller/pause/stack_room.h"
#include "controller/pause/unreached.h"
#include "controller/perf/event.h"
#include "controller/tracee/inject/slot.h"

namespace causalctl::pause {

// CPU time that a thread runs after being armed, until its shot fires. The shorter it is, the fewer
// threads block before. But a timer that expires in kernel code (exclude_kernel) does not count and
// is set again, and where an interrupt takes as long as the period, as it may on a virtual machine,
// the thread does not advance for up to 70 ms (docs/virtual-time.md, "What a pause costs").
inline constexpr Nanoseconds kShotPeriod = 50 * kMicrosecond;

class SigtrapChannel final : public Pauser {
 public:
  SigtrapChannel(Pid target, tracee::Guardian& guardian, tracee::Injection injection,
                 const PauserOptions& options);

  void add_thread(Tid tid) override;
  void remove_thread(Tid tid) override;
  void sampled(Tid tid, Address stack_pointer) override;
  void stand_awake(bool on) override { awake_ = on; }
  bool in_stub(Address instruction) const override;
  void set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) override;
  std::vector<Paid> collect(Nanoseconds now_ns) override;
  bool pausing(Tid tid) const override;
  bool standing(Tid tid) const override;
  bool idle() const override { return standing_ == 0 && fallback_.idle(); }
  // Without the filter it is this poll that finds out that the handler is not ours any more.
  bool polls_target() const override { return !filter_; }
  PauseTotals totals() const override;
  std::optional<LastPause> last() const override;
  std::string name() const override { return "sigtrap"; }
  std::vector<std::string> notices() const override {
    return reasons_.notices(injection_.slot_count);
  }

 private:
  struct Thread {
    perf::EventFd shot;
    unsigned slot = 0;
    bool armed = false;
    bool spins = false;  // in the pause that it is armed for
    Nanoseconds armed_at_ns = 0;
    Nanoseconds check_at_ns = 0;    // whether it is reached at all
    Nanoseconds owed_total_ns = 0;  // as last written
    bool reached = false;           // by an earlier shot
    int unblocked_polls = 0;        // in a row, before its first shot
    Unreached unreached;
    bool stack_known = false;  // it was looked for
    std::optional<StackRange> stack;
    int suppressed_polls = 0;        // for want of room on its stack, since its last pause
    bool seen_on_own_stack = false;  // by a sample
  };
  struct SlotState {  // what collect() last saw; outlives the thread that had the slot
    Nanoseconds paid_total_ns = 0;
    std::uint64_t left = 0;
  };

  bool finish(Tid tid, Thread& thread, const tracee::Slot& slot, Nanoseconds now_ns,
              std::vector<Paid>& paid);
  std::optional<tracee::Slot> read_slot(unsigned slot) const;  // nullopt: it is not there
  void write_slot(const Thread& thread, bool with_arming);
  void fall_back(Tid tid);
  void find_stack(Tid tid, Thread& thread);
  void check_stack(Tid tid, Thread& thread, const ShotFilter::Place& place);
  void check_unfired(Tid tid, Thread& thread, Nanoseconds now_ns);
  unsigned take_slot();
  void give_up(ShotFilter::Obstacle why);
  void read_slots();

  Pid target_;
  tracee::Injection injection_;
  PauserOptions options_;
  std::optional<ShotFilter> filter_;
  PtraceReasons reasons_;   // of threads that went to fallback_
  bool awake_ = false;      // see stand_awake()
  bool executed_ = false;   // the target has another program, without the stub: no thread is paused
  PtraceChannel fallback_;  // for threads that block SIGTRAP or have no slot; all after give_up()
  std::unordered_map<Tid, Thread> threads_;
  std::vector<unsigned> free_slots_;
  unsigned used_slots_ = 0;  // high-water mark
  std::vector<SlotState> states_;
  std::vector<tracee::Slot> seen_;  // buffer of collect()
  int clean_samples_ = 0;           // of any thread, on its own stack
  unsigned armed_count_ = 0;
  unsigned standing_ = 0;  // threads in the stub, as of the last collect()
  PauseTotals totals_;
  std::optional<LastPause> last_;
};

}  // namespace causalctl::pause
