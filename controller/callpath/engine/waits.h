// How long threads were on a core, waited for something, waited for a core, or were kept from
// running together with the whole process. Pure.
//
// Every moment of a thread's life counts for one of these. A wait ends when the thread gets a
// core. It is for something until the wake-up, and for a core from then on; a thread that was
// preempted waits for a core all the time. Of a wake-up that was not seen (made by another process,
// or by a device) the whole wait counts as one for something.
//
// A process that is stopped or frozen stands still (session/halt_watch.h). Nothing records when
// that begins: a look finds it afterwards. A thread that has left its core since the look before
// did so because of it, and any other that is blocked is taken to stand still from that look on.
// Looks miss halts that are shorter than the time between two. So in a process that was stopped
// lately, a thread that leaves its core in the midst of its own code, and not for another thread,
// is stopped, too: such code has no other reason to wait than a page of memory.
// Not every switch is sampled, a thread may block before its events are open, and a late reader
// loses the last records before a halt. Where a thread stands is then read from outside, as it does
// not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/record/call_tree.h"
#include "controller/session/halt_watch.h"

namespace causalctl::callpath {

struct ThreadTimes {
  Nanoseconds on_core_ns = 0;
  Nanoseconds blocked_ns = 0;
  Nanoseconds runnable_ns = 0;
  Nanoseconds stopped_ns = 0;
  Nanoseconds frozen_ns = 0;
};

// What is known of a wake-up.
enum class Waker : std::uint8_t {
  unseen,     // no thread of the process made it: another process, a timer, or a device
  interrupt,  // it came in an interrupt of a thread of the process
  thread      // a thread of the process made it
};

// A wait that is over, or the part of one up to now.
struct Wait {
  ThreadId thread;
  std::optional<NodeId> path;  // where the thread was; nullopt if that was not sampled
  Nanoseconds blocked_ns = 0;
  Nanoseconds runnable_ns = 0;
  Nanoseconds stopped_ns = 0;
  Nanoseconds frozen_ns = 0;
  bool is_complete = false;  // the path reaches the outermost frame
  bool over = true;
  Nanoseconds whole_blocked_ns = 0;  // with the parts that were told before
  bool is_woken = true;              // whether it waits for no more than a core
  // Of one that is woken: by whom, with the path if that was sampled.
  Waker waker = Waker::unseen;
  std::optional<NodeId> waker_path{};
};

class Waits {
 public:
  // Only what comes later is counted.
  void start(Nanoseconds time_ns) { start_ns_ = time_ns; }
  // A thread is seen from this time on. Of one that is `blocked`, no path is known yet.
  void begin(ThreadId thread, Nanoseconds time_ns, bool blocked);
  // Off its core, the thread had this path at `read_ns`. It counts for a wait that goes on since
  // then and has no path. If the process stands still, so does the thread. Returns the wait that is
  // over by that. REQUIRES: all events up to `read_ns` were told.
  std::optional<Wait> stands_on(ThreadId thread, NodeId path, bool is_complete,
                                Nanoseconds read_ns);
  // What a sample tells of the switch that comes next.
  struct Left {
    NodeId path = 0;
    bool is_complete = true;  // the path reaches the outermost frame
    bool in_call = true;      // the thread is in a system call
    NodeId user = 0;          // the path without the kernel's part
  };
  // `place`: perf::SwitchEvent::place.
  void leaving(ThreadId thread, const Left& left, std::uint16_t place = 0);
  // A switch that was not sampled has the path of the last one at its place that was. If samples at
  // that place were in different functions of the kernel, and the wait lasts for kLongWait, it has
  // the path of the user code alone: most of the others may be short, and elsewhere in the kernel.
  void leave(ThreadId thread, Nanoseconds time_ns, bool preempted, std::uint16_t place = 0);
  void wake(Tid thread, Nanoseconds time_ns, Waker waker = Waker::thread);
  // The path of a wake-up, shortly before it or after it.
  void woken_by(Tid thread, NodeId path);
  std::optional<Wait> come(ThreadId thread, Nanoseconds time_ns);
  void end(ThreadId thread);
  // A look at `now_ns` finds whether the process stands still; the look before it was at
  // `before_ns`, or there was none (0).
  void look(session::Halt halt, Nanoseconds before_ns, Nanoseconds now_ns);
  // Returns threads off their core of which no record tells where they stand: those that have been
  // blocked for a while, each once in a wait, and those of a process that stands still, each once
  // until the next cut.
  std::vector<ThreadId> without_path(std::size_t most, Nanoseconds now_ns);
  // Cuts all waits at this time, so that what they have lasted is counted, and they go on.
  std::vector<Wait> cut(Nanoseconds time_ns);

  // A sample, or its end, shows that the thread runs, though the record of its switch may be lost.
  // Returns the wait that is over.
  std::optional<Wait> runs(ThreadId thread, Nanoseconds time_ns);
  // Returns how long the thread was on a core since the last such call, up to what last showed that
  // it was; with `is_last` up to the last cut, if anything ever did. nullopt if the thread is not
  // known, or no switch was seen of any thread.
  std::optional<Nanoseconds> take_on_core(ThreadId thread, bool is_last);
  std::vector<ThreadId> threads() const;                           // that have begun and not ended
  bool knows(ThreadId thread) { return find(thread) != nullptr; }  // as one of them

  // Returns the times of a thread that has begun and not ended, for tests.
  const ThreadTimes& times(ThreadId thread) { return find(thread)->times; }

 private:
  enum class State { running, blocked, runnable, stopped, frozen };
  struct Thread {
    ThreadTimes times;                 // since it began
    Nanoseconds fresh_on_core_ns = 0;  // not yet taken
    Nanoseconds unproved_ns = 0;       // of it: since anything showed that it runs
    bool has_run = false;              // anything ever did
    State state = State::running;
    bool was_asked_for = false;   // by without_path(), in this wait, or since the last cut
    Nanoseconds since_ns = 0;     // of the state, or of the last cut
    Nanoseconds seen_ns = 0;      // when an event last told something of it
    Nanoseconds left_ns = 0;      // when this wait began
    Nanoseconds blocked_ns = 0;   // of this wait, since the last cut
    Nanoseconds runnable_ns = 0;  // the same
    Nanoseconds stopped_ns = 0;
    Nanoseconds frozen_ns = 0;
    bool is_complete = false;
    std::optional<Left> next;            // of the switch that comes
    std::optional<NodeId> path;          // of this wait
    std::optional<NodeId> path_if_long;  // instead of it, for the reason of leave()
    struct AtPlace {
      Left last;
      bool differs_in_kernel = false;  // from an earlier one that had the same user code
    };
    std::unordered_map<std::uint16_t, AtPlace> at_places;
    struct EarlyWake {
      Nanoseconds at_ns = 0;
      Waker waker = Waker::unseen;
    };
    std::optional<EarlyWake> early;    // the latest one while the thread is on its core
    Nanoseconds whole_blocked_ns = 0;  // of this wait
    Waker waker = Waker::unseen;
    std::optional<NodeId> waker_path;
  };
  struct Known {
    ThreadId id;
    Thread thread;
  };

  Thread* find(ThreadId thread);
  void pass(Thread& thread, Nanoseconds time_ns) const;
  static void begin_wait(Thread& thread, State state);  // whose path is not known
  void stand_still(Thread& thread, Nanoseconds before_ns, Nanoseconds now_ns) const;
  bool stands_nowhere_known(const Thread& thread, Nanoseconds now_ns) const;
  static bool stands_still(const Thread& thread) {
    return thread.state == State::stopped || thread.state == State::frozen;
  }
  bool was_stopped_lately(Nanoseconds now_ns) const;
  State off_core() const;  // of a thread that leaves its core, unless it is preempted
  void doubt(Thread& thread) const;
  static void take_early_wake(Thread& thread, Nanoseconds came_ns);
  std::optional<Wait> on_core(ThreadId id, Thread& thread, Nanoseconds time_ns) const;
  static Wait take(ThreadId id, Thread& thread, bool over);

  std::unordered_map<Tid, Known> threads_;
  Nanoseconds start_ns_ = 0;
  bool has_switched_ = false;                 // any thread
  session::Halt halt_ = session::Halt::none;  // at the last look
  bool halt_is_over_ = false;                 // a thread that stood still has come to a core since
  Nanoseconds stopped_ns_ = 0;                // at the last look that found it so; 0: at none
  Nanoseconds halted_after_ns_ = 0;           // the last look that did not find it
  Nanoseconds before_ns_ = 0;                 // the look before the last; it found the same halt
};

}  // namespace causalctl::callpath
