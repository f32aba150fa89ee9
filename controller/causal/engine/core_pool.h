// The cores that the target may run on, taken together (rule 6 of docs/virtual-time.md). Pure.
//
// While all cores are busy, it is chance which of them a waiting thread gets. Work that is saved on
// any core lets all waiting threads begin sooner, by that work's share of the cores' time. So the
// cores have one lead, which grows by what is earned on any of them, divided by their number.
#pragma once

#include <limits>

#include "controller/base/error.h"
#include "controller/base/types.h"

namespace causalctl::causal {

class CorePool {
 public:
  explicit CorePool(int cores) : cores_(cores) {}

  // `threads` threads are runnable as of now_ns.
  void runnable(Nanoseconds now_ns, int threads) {
    if (is_short() != (threads > cores_)) short_since_ns_ = now_ns;
    runnable_ = threads;
  }
  bool busy() const { return runnable_ >= cores_; }

  // REQUIRES: the cores have just become busy. `lead_ns` is the mean lead of the threads that run.
  void begin(double lead_ns) {
    INVARIANT(busy());
    lead_ns_ = lead_ns;
  }
  void reset() { lead_ns_ = 0; }
  void earn(Nanoseconds amount_ns) {
    if (busy()) lead_ns_ += static_cast<double>(amount_ns) / cores_;
  }
  void lift(Nanoseconds amount_ns) { lead_ns_ += static_cast<double>(amount_ns); }
  Nanoseconds lead_ns() const { return static_cast<Nanoseconds>(lead_ns_); }

  // Returns since when, without a break, some thread has waited for a core; the end of time if none
  // waits.
  Nanoseconds short_since_ns() const {
    return is_short() ? short_since_ns_ : std::numeric_limits<Nanoseconds>::max();
  }

 private:
  bool is_short() const { return runnable_ > cores_; }

  int cores_;
  int runnable_ = 0;
  double lead_ns_ = 0;
  Nanoseconds short_since_ns_ = 0;
};

}  // namespace causalctl::causal
