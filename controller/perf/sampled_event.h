// Events of which some are sampled with registers and stack, beside the samples of CPU time: page
// faults, system calls, calls of a function, wake-ups, cycles.
//
// Every n-th event of a thread is sampled; event_period.h chooses n. How many events a sample
// stands for is told by the event's own count, which goes on where samples were lost.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "controller/base/types.h"
#include "controller/perf/event.h"
#include "controller/perf/event_period.h"
#include "controller/perf/record.h"
#include "controller/perf/uprobe_place.h"

namespace causalctl::perf {

struct EventTemplate {
  // type, config and what a uprobe needs. What it points to must live as long as the session.
  perf_event_attr attr{};
  std::uint32_t tag = 0;
  std::string what;                    // for messages: "page faults"
  std::uint64_t first_every = 31;      // of how many events one is sampled at the beginning
  std::uint64_t fewest_every = 1;      // and at the least
  bool wakes = false;                  // the event is sched:sched_waking
  std::optional<UprobePlace> place{};  // of a uprobe: the program that counts it can sample it
  // Where in the tracepoint's data a 64-bit number is, such as the result of a system call.
  std::optional<std::size_t> number_offset{};
};

// A sample of each `every`-th event with registers and stack.
perf_event_attr event_attr(const EventTemplate& event, unsigned stack_bytes, std::uint64_t every);

// Returns whether the processor's cycles are counted here: a hypervisor may allow the event to be
// opened that then never counts. If not, `reason` says what was seen.
bool counts_cycles(std::string& reason);

// Of one thread.
class SampledEvent {
 public:
  // Opens it, disabled. Its samples go to the ring of `output`. Returns nullopt if the thread is
  // gone.
  [[nodiscard]] static std::optional<SampledEvent> open(const EventTemplate& event, Tid tid,
                                                        unsigned stack_bytes,
                                                        const EventFd& output);

  const EventFd& event() const { return event_; }
  EventFd take() { return std::move(event_); }
  std::uint32_t tag() const { return tag_; }
  bool wakes() const { return wakes_; }
  // Returns how often it has happened since the last call, by its samples.
  std::uint64_t fresh() {
    return period_.last_count() - std::exchange(asked_for_, period_.last_count());
  }

  // As EventPeriod::worth().
  std::optional<std::uint64_t> worth(const SampleRecord& record) {
    return period_.worth(record.count);
  }
  std::int64_t number(const SampleRecord& record) const;  // 0 if it has none
  void adapt(unsigned most, std::uint64_t random);  // as EventPeriod::adapt(); sets the period

 private:
  SampledEvent(EventFd event, const EventTemplate& from);

  EventFd event_;
  std::uint32_t tag_;
  bool wakes_;
  std::optional<std::size_t> number_offset_;
  EventPeriod period_;
  std::uint64_t asked_for_ = 0;  // of its count, by fresh()
};

}  // namespace causalctl::perf
