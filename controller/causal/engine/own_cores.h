// How long a thread that waits for a core would have run if the target had all cores to itself.
// Pure.
//
// If R threads of the target run and W wait, on C cores, min(W, C - R) of the waiting ones could be
// running. Their waiting is due to other processes (or to a limit of CPU time), the rest to there
// being more threads than cores. Threads that are bound to some cores are treated as free.
#pragma once

#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/types.h"

namespace causalctl::causal {

class OwnCores {
 public:
  explicit OwnCores(int cores) : cores_(cores) {}

  // From now on `running` more threads run and `waiting` more wait; negative numbers mean fewer.
  // REQUIRES: neither count falls below 0.
  void change(Nanoseconds now_ns, int running, int waiting) {
    if (waiting_ > 0 && now_ns > at_ns_) {
      const auto passed = static_cast<double>(now_ns - at_ns_);
      const int withheld = std::min(std::max(cores_ - running_, 0), waiting_);
      granted_ns_ += static_cast<double>(withheld) / waiting_ * passed;
      withheld_.all_ns += withheld * passed;
      if (running_ == 0) {
        stalled_ns_ += now_ns - at_ns_;
        withheld_.together_ns += withheld * passed;
      }
    }
    at_ns_ = std::max(at_ns_, now_ns);
    running_ += running;
    waiting_ += waiting;
    INVARIANT(running_ >= 0 && waiting_ >= 0);
  }

  // Returns how long one thread that waited all the time would have run, until the last change.
  double granted_ns() const { return granted_ns_; }
  // Returns the total time for which no thread ran though some were runnable. The scheduler may put
  // two threads on one core while another is idle, but only other processes or a limit keep all
  // threads from all cores.
  Nanoseconds stalled_ns() const { return stalled_ns_; }
  // The sum of `granted_ns` over all waiting threads, and the part of it in which no thread ran.
  struct Withheld {
    double all_ns = 0, together_ns = 0;
  };
  const Withheld& withheld() const { return withheld_; }

 private:
  int cores_;
  int running_ = 0;
  int waiting_ = 0;
  Nanoseconds at_ns_ = 0;
  double granted_ns_ = 0;
  Nanoseconds stalled_ns_ = 0;
  Withheld withheld_;
};

}  // namespace causalctl::causal
