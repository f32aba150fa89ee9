// What the kernel reports about the target, as one stream in time order: the input of every
// capability.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::perf {

// User registers that the kernel copied at a sample (PERF_SAMPLE_REGS_USER), in the order of
// asm/perf_regs.h. `stack` has the bytes from the stack pointer upwards.
struct UserStack {
  std::uint64_t mask = 0;
  std::vector<std::uint64_t> registers;
  std::vector<std::byte> stack;
  bool truncated = false;  // true if the copy was full, or empty
  // Where a signal's handler runs on a stack of its own, what it has interrupted, if that was
  // copied: the bytes from the stack pointer there upwards.
  Address interrupted_pointer = 0;
  std::vector<std::byte> interrupted;
};

// Why a sample was taken: CPU time has passed, the thread leaves its core, an event of
// SessionOptions::events happened, or the thread wakes another one.
enum class SampleReason : std::uint8_t { cpu_time, leaving, event, waking };

struct SampleEvent {
  ThreadId thread;
  Nanoseconds time_ns = 0;
  std::uint32_t cpu = 0;
  Nanoseconds period_ns = 0;  // CPU time that this sample stands for; 0 of one that leaves
  bool in_kernel = false;  // true if callers[0] is the user code that made a call into the kernel
  std::vector<Address> callers;  // user addresses: first the instruction, then return addresses
  // The kernel's part of the path, innermost first; empty outside the kernel, and unless asked for.
  std::vector<Address> kernel;
  UserStack user;             // registers is empty if they were not copied
  Address stack_pointer = 0;  // in user code; 0 if there is none
  SampleReason reason = SampleReason::cpu_time;
  std::uint32_t tag = 0;     // of the event; of one that leaves, SwitchEvent::place
  std::uint64_t events = 0;  // how many events the sample stands for
  std::int64_t number = 0;   // that the event's record has (EventTemplate::number_offset)
  Tid woken = 0;             // the thread that is woken
};

enum class SwitchKind : std::uint8_t { in, out_blocked, out_preempted };

struct SwitchEvent {
  ThreadId thread;
  Nanoseconds time_ns = 0;
  std::uint32_t cpu = 0;
  SwitchKind kind = SwitchKind::in;
  // Where the thread leaves its core: a number that its switches at the same instruction, with the
  // same stack pointer and return address, have in common, and few others. 0 if it is not known.
  std::uint16_t place = 0;
};

// Whether the running thread made the wake-up: in a hardware interrupt it did not, in a softirq it
// may have.
enum class WakeContext : std::uint8_t { task, softirq, hardirq };

struct WakeEvent {
  ThreadId waker;
  Tid woken = 0;  // any thread of the machine
  Nanoseconds time_ns = 0;
  WakeContext context = WakeContext::task;
};

// A thread that goes to sleep can be woken from the moment it has said so, but the record that it
// leaves its core comes only when the scheduler changes to another thread: up to 40 µs later, here
// (try_to_wake_up() and __schedule() of kernel/sched/core.c). Such an early wake-up ends the wait,
// so that the thread waits for nothing but a core. But the thread may also be set running again,
// and go to sleep once more: then another wake-up ends the wait, which may make no record. So an
// early wake-up is believed only if the thread has a core again soon.
//
// Returns whether a wake-up at `woken_ns`, of a thread that is on its core, has ended the wait that
// begins when it leaves its core, blocked, at `left_ns`, if no other is recorded until it comes to
// a core at `came_ns`.
inline bool ended_early(Nanoseconds woken_ns, Nanoseconds left_ns, Nanoseconds came_ns) {
  constexpr Nanoseconds kGoingToSleep = 40 * kMicrosecond;
  const bool may_be_early = woken_ns <= left_ns && left_ns - woken_ns <= kGoingToSleep;
  return may_be_early && came_ns - left_ns <= kMillisecond;
}

// A progress point, or another event that a capability asked for, was hit.
struct VisitEvent {
  ThreadId thread;
  Nanoseconds time_ns = 0;
  std::uint32_t tag = 0;
};

struct ThreadStartEvent {
  ThreadId thread;
  ThreadId parent;  // serial 0 if unknown (the thread was found in /proc)
  Nanoseconds time_ns = 0;
  bool blocked = false;  // blocked since before its records begin, which is later than its birth
  bool is_peer = false;  // of another process, with which the target exchanges wake-ups
  Pid process = 0;
};

struct ThreadExitEvent {
  ThreadId thread;
  Nanoseconds time_ns = 0;
};

struct MapEvent {  // an executable mapping appeared (PERF_RECORD_MMAP2)
  Address start = 0;
  std::uint64_t length = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;  // its major number in the upper 32 bits
  std::uint64_t inode = 0;   // 0: no file
  std::string path;          // without the kernel's " (deleted)"
  Nanoseconds time_ns = 0;
  std::uint64_t generation = 0;  // of the inode, whose number may be given again
  Pid process = 0;
};

struct ExecEvent {  // the thread's process runs another program from now on
  ThreadId thread;
  Nanoseconds time_ns = 0;
  Pid process = 0;
};

struct NameEvent {  // the thread was given another name
  ThreadId thread;
  Nanoseconds time_ns = 0;
  std::string name;
};

using Event = std::variant<SampleEvent, SwitchEvent, WakeEvent, VisitEvent, ThreadStartEvent,
                           ThreadExitEvent, MapEvent, ExecEvent, NameEvent>;

inline Nanoseconds time_of(const Event& event) {
  return std::visit([](const auto& each) { return each.time_ns; }, event);
}

// Returns the thread that did it; serial 0 of a mapping.
inline ThreadId thread_of(const Event& event) {
  return std::visit(
      []<typename Each>(const Each& each) {
        if constexpr (std::is_same_v<Each, WakeEvent>) {
          return each.waker;
        } else if constexpr (std::is_same_v<Each, MapEvent>) {
          return ThreadId{};
        } else {
          return each.thread;
        }
      },
      event);
}

}  // namespace causalctl::perf
