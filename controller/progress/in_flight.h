// Requests in flight between the begin and the end of a latency, where ends cannot be paired with
// begins. Pure.
//
// Only begins − ends is seen. Two things of it cannot be known from counts alone:
//   - how many requests were in flight when counting began. It is known from the moment on in which
//     none was in flight. Such a moment is taken to be seen where, at the lowest level so far,
//     nothing begins or ends for several times the usual interval between two begins.
//   - whether a begin that has no end yet is still to end. If begins exceed ends steadily, requests
//     never end (they were cancelled, or pass no end on their way out), or pile up. Then each level
//     is compared with the lowest that still follows: what is never taken away again is not in
//     flight.
// Both make the latency too short rather than too long, by at most the fewest requests that are
// ever in flight at once, over the rate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::progress {

class InFlight {
 public:
  void begin_at(Nanoseconds time_ns) { change(1, time_ns); }
  void end_at(Nanoseconds time_ns) { change(-1, time_ns); }
  // From here on it is measured. REQUIRES: times do not decrease.
  void start(Nanoseconds time_ns);

  bool was_empty() const { return was_empty_; }
  // The mean time of those that end, since start(): Little's law, with the number in flight above
  // the lowest level that still follows. nullopt if none has ended.
  std::optional<Nanoseconds> mean_above_floor(Nanoseconds until_ns) const;

 private:
  struct Step {
    Nanoseconds at_ns = 0;
    std::int64_t level = 0;  // from then on
  };
  void change(int by, Nanoseconds time_ns);

  std::int64_t level_ = 0;
  std::int64_t lowest_ = 0;
  std::uint64_t begins_ = 0;
  Nanoseconds first_begin_ns_ = 0;
  Nanoseconds last_ns_ = 0;
  bool was_empty_ = false;
  std::vector<Step> steps_;  // since start(), whose level is the first
  std::uint64_t ends_ = 0;   // since start()
};

}  // namespace causalctl::progress
