// The cores that the target may run on, taken together (rule 6 of docs/virtual-time.md). Pure.
//
// While all of them are busy it is chance which one a thread gets that waits for one. Work that is
// saved on any of them lets all who wait begin sooner, by that work's share of the cores' time. So
// the cores have one local, which grows by what is earned on any of them, divided by their number.
#pragma once

#include <limits>

#include "controller/base/types.h"

namespace causalctl::causal {

class CorePool {
 public:
  explicit CorePool(int cores) : cores_(cores) {}

  // So many threads can run from now on, each known one counted once.
  void runnable(Nanoseconds now_ns, int threads) {
    if (is_short() != (threads > cores_)) short_since_ns_ = now_ns;
    runnable_ = threads;
  }
  bool busy() const { return runnable_ >= cores_; }

  // REQUIRES: they have just become busy. `local_ns`: of those who run, on average.
  void begin(double local_ns) { local_ns_ = local_ns; }
  void reset() { local_ns_ = 0; }
  void earn(Nanoseconds amount_ns) {
    if (busy()) local_ns_ += static_cast<double>(amount_ns) / cores_;
  }
  void lift(Nanoseconds amount_ns) { local_ns_ += static_cast<double>(amount_ns); }
  Nanoseconds local_ns() const { return static_cast<Nanoseconds>(local_ns_); }

  // Since when, without a break, some thread has waited for one; the end of time: nobody does.
  Nanoseconds short_since_ns() const {
    return is_short() ? short_since_ns_ : std::numeric_limits<Nanoseconds>::max();
  }

 private:
  bool is_short() const { return runnable_ > cores_; }

  int cores_;
  int runnable_ = 0;
  double local_ns_ = 0;
  Nanoseconds short_since_ns_ = 0;
};

}  // namespace causalctl::causal
