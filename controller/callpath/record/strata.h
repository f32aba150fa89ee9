// How many calls there were in a time of which one piece in each stratum was counted. Pure.
//
// A piece is at a random place of its stratum, and how long both are does not depend on what
// happens in them (event_cost.h), so its calls times the stratum's length over its own estimate
// those of the stratum without bias. How far off the sum may be is known from how much the rates of
// successive strata differ (collapsed strata; Cochran, Sampling Techniques, 1977, 5A.12). This has
// in it how much they truly differ, so that the range is rather too wide than too narrow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::callpath {

struct Stratum {
  std::uint64_t calls = 0;     // in its piece
  Nanoseconds piece_ns = 0;    // REQUIRES: more than 0
  Nanoseconds stratum_ns = 0;  // REQUIRES: at least as long as its piece
  double cost_share = 0;       // of the time of the thread with the most calls, in the piece
};

class Strata {
 public:
  // A thread that spends more than this share of its time on being counted does less else, so that
  // what it would do otherwise is not known.
  static constexpr double kMostCostShare = 0.5;

  void add(const Stratum& next);

  std::uint64_t calls() const { return calls_; }      // in all pieces
  Nanoseconds piece_ns() const { return piece_ns_; }  // the length of all pieces

  // Calls in the gaps: the time that is in no piece.
  struct Gaps {
    double calls = 0;
    double least = 0, most = 0;  // 95 %; the latter with what the traps may have held back
  };
  // After the last stratum came so much time without a piece, which has the rate of all strata; if
  // it is negative, the last stratum was so much shorter.
  Gaps in_gaps(Nanoseconds more_ns = 0) const;

 private:
  struct Sums {
    double calls = 0;
    double held_back = 0;  // calls that there may be besides, as the traps took time
    double variance = 0;   // of the calls
    double weights = 0, squared_weights = 0;
    void add(const Stratum* before, const Stratum& stratum, const Stratum* after);
    void add_tail(double mean, double last, Nanoseconds tail_ns);
  };

  double mean_rate(double in_gaps) const;  // a nanosecond

  std::optional<Stratum> before_, last_;
  Sums sums_;  // of all strata but the last
  std::uint64_t calls_ = 0;
  Nanoseconds piece_ns_ = 0;
  Nanoseconds stratum_ns_ = 0;
};

}  // namespace causalctl::callpath
