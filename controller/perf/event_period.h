// Of how many events of one thread one is sampled, and how many events each sample stands for.
// Pure.
//
// The period follows the rate of the events, and is a prime number that is drawn anew, so that it
// does not follow a pattern of the program.
//
// In the kernel (__perf_event_period() of kernel/events/core.c) a new period ends the one that
// runs: the very next event is sampled, whichever it is. If the thread waits at that moment, as it
// mostly does if its events come in bursts, the new period begins with the first event of a burst,
// and the old one has ended with the last of another. So the first samples of a period, and its
// last ones, are the same few of a loop each time. A random number of them is left out at both
// ends; the other samples stand for their events, too. What is left of the error is in each change,
// so periods change seldom: with 13 changes a second, the share of a path that has 75 % of such
// events was up to 4 % too large (docs/lab/2026-11.md).
#pragma once

#include <cstdint>
#include <optional>

#include "controller/perf/sampled_part.h"

namespace causalctl::perf {

class EventPeriod {
 public:
  // `first` is the period at the beginning, `fewest` the least that is set.
  EventPeriod(std::uint64_t first, std::uint64_t fewest) : mean_(first, fewest) {}

  // Takes a sample at this count of the thread's events. Returns how many events it stands for:
  // those since the sample before it, and a part of those of samples that were left out or lost. (A
  // late reader loses hundreds at a time. Were the one after them to stand for all, its path would
  // outweigh all others.) Returns nullopt if it is left out.
  std::optional<std::uint64_t> worth(std::uint64_t count);
  std::uint64_t last_count() const { return last_count_; }  // at the last sample

  // Call it regularly. Samples fewer of the events if there were more than `most` samples since the
  // last call, and more if there were few in each of several calls. Returns the period that is to
  // be set now, if any; was_set() must follow.
  std::optional<std::uint64_t> adapt(unsigned most, std::uint64_t random);
  // Tells the counts of events before and after the period was set: where the sample is that came
  // out of its turn.
  void was_set(std::uint64_t before, std::uint64_t after);

 private:
  bool wants_other(unsigned seen, unsigned most, std::uint64_t random);

  SampledPart mean_;            // of the periods that are drawn
  unsigned seen_ = 0;           // samples since adapt()
  bool is_due_ = false;         // another period is to begin
  std::uint64_t to_count_ = 0;  // then: samples that still count before
  unsigned waited_ = 0;         // and calls of adapt() since
  std::uint64_t to_skip_ = 0;   // samples at the beginning that are still to be left out
  std::uint64_t owed_ =
      0;  // events of such samples, and of lost ones, for which the next ones stand
  std::uint64_t last_count_ = 0;
  // A sample with a count above the first and up to the second came out of its turn.
  std::uint64_t set_after_ = 0;
  std::uint64_t set_before_ = 0;
};

// Returns the least prime number that is not below `number`. Pure.
std::uint64_t prime_from(std::uint64_t number);

}  // namespace causalctl::perf
