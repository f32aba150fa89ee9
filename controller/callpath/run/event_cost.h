// What events may cost whose every occurrence costs something, whether it is sampled or not: a
// uprobe's trap. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <random>

#include "controller/base/types.h"

namespace causalctl::callpath {

// Tells when events are to be seen so that on average they cost a thread at most a share of its
// time. Time is divided into strata, and in each one piece is seen, at a place that is random. How
// long a stratum is depends on what was seen before it, and a piece does not end because of what
// is in it. So the events of a piece times the length of its stratum over its own is, on average
// over the random places, the number of events in the stratum, however they are distributed (at
// the two ends of a stratum, as far as they do not begin or end within one piece; strata.h). Where
// events are rare enough, a stratum is as long as its piece: all are seen.
class Thinning {
 public:
  static constexpr Nanoseconds kPiece = 10 * kMillisecond;
  // A uprobe takes some 50 ms to close, in which none opens. If the next piece is nearer, it is not
  // closed before it.
  static constexpr Nanoseconds kClosing = 60 * kMillisecond;
  static constexpr Nanoseconds kLongest = kSecond;     // a stratum, unless more is to be repaid
  static constexpr Nanoseconds kSlack = kPiece;        // it may cost so much more than is allowed
  static constexpr Nanoseconds kRepay = kSecond;       // in which other costs are repaid
  static constexpr Nanoseconds kMemory = 2 * kSecond;  // of how dense the events are
  static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

  // Each event costs its thread `cost_ns`; 0: next to nothing, so that all are seen.
  Thinning(Nanoseconds cost_ns, double most_share, std::uint64_t seed)
      : cost_ns_(static_cast<double>(cost_ns)), most_(most_share), random_(seed) {}

  struct Step {
    bool is_open = true;  // from now on events happen
    bool ended = false;   // a piece ends now
    bool began = false;   // a piece begins now
    // If a piece ends: how long its stratum goes on, and its share of the thread's time.
    Nanoseconds rest_ns = 0;
    double cost_share = 0;
  };
  // `hits` more events have happened in the busiest thread, and it is `time_ns` since the start.
  // `may_open`: events that were closed may be opened now.
  Step step(std::uint64_t hits, Nanoseconds time_ns, bool may_open = true);
  // The piece that began at the last step begins at `time_ns` instead: opening took until then.
  void begin_piece(Nanoseconds time_ns);
  // Returns when the next step is due, if it matters.
  Nanoseconds next_ns() const;

  bool was_interrupted() const { return interrupted_; }
  double open_share() const;            // of the time so far
  double hits_per_second() const;       // while they were open
  double estimated_per_second() const;  // in the whole time

 private:
  Nanoseconds next_length(Nanoseconds time_ns) const;
  void end_piece(Nanoseconds time_ns, Step& step);

  double cost_ns_;
  double most_;
  std::mt19937_64 random_;
  bool open_ = true;
  bool interrupted_ = false;
  double hits_ = 0;
  Nanoseconds last_ns_ = 0;
  Nanoseconds open_ns_ = 0;

  Nanoseconds stratum_ns_ = 0;      // since when
  Nanoseconds length_ns_ = kPiece;  // of the stratum
  bool in_piece_ = true;
  Nanoseconds piece_ns_ = 0;  // when it begins or has begun
  double piece_hits_ = 0;
  double estimated_hits_ = 0;  // in all strata that have had their pieces
  double recent_share_ = 0;    // of the thread's time that all events would have cost, lately
};

}  // namespace causalctl::callpath
