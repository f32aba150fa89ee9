// Watches one word of a thread's memory for its next read or write, by a breakpoint register
// (perf_event_open(2), PERF_TYPE_BREAKPOINT). Of a word that holds a return address the read is the
// return: `ret` leaves the instruction pointer at that address and the stack pointer above the word
// (csprof §2.3 puts a trampoline there instead).
//
// A watch fires once: a call that returns 100,000 times a second must not trap each time. A
// breakpoint that was stopped so does not fire again, whatever it is told (measured: Linux 6.18;
// its stopped state outlives the enabling), so each watch is a new event.
#pragma once

#include <cstddef>
#include <optional>

#include "controller/base/trial.h"
#include "controller/base/types.h"
#include "controller/perf/event.h"
#include "controller/perf/record.h"
#include "controller/perf/ring.h"

namespace causalctl::perf {

class SlotWatch {
 public:
  struct Hit {
    Nanoseconds time_ns = 0;  // CLOCK_MONOTONIC
    Address ip = 0;           // after the instruction that read or wrote the word
    Address sp = 0;           // the same
  };

  // Returns nullopt if the thread is gone.
  [[nodiscard]] static std::optional<SlotWatch> open(Tid tid);

  // Watches this word from now on, and no other. REQUIRES: a multiple of 8. Returns the time at
  // which it was sure to be watched, or nullopt if the thread is gone. Throws Error, with errno
  // ENOSPC if no register is free.
  std::optional<Nanoseconds> watch(Address slot);
  // Returns the first access by the thread itself since watch().
  std::optional<Hit> hit();
  void stop() { event_ = EventFd(); }  // gives the register back

 private:
  SlotWatch(Tid tid, EventFd owner, Ring ring);

  Tid tid_;
  EventFd owner_;  // of the ring
  Ring ring_;
  EventFd event_;
  std::optional<Hit> hit_;
};

// Watches a word of ours, once for a write and once for a read. It takes less than a millisecond,
// and does not throw.
Trial try_slot_watch();
// Returns how much later than it happened an access is seen, as measured on the calling thread. 0
// if none was seen.
Nanoseconds slot_watch_delay();

}  // namespace causalctl::perf
