// Keeps what CoreTotals says of coupled threads and of waits for strangers. Which threads are
// coupled, and whether cores are shared, is checked between experiments; until the next check the
// last result is taken to hold on. Pure.
#pragma once

#include "controller/base/types.h"
#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {

class CoreAccount {
 public:
  // All members but the time are totals since the start.
  struct Now {
    Nanoseconds at_ns = 0;
    Nanoseconds cpu_ns = 0;  // of the target
    Nanoseconds stranger_wait_ns = 0;
    Nanoseconds quota_stopped_ns = 0;
  };
  // How cores were shared since the update before.
  struct Sharing {
    bool strangers = false;  // strangers, or a quota, share the cores
    bool quota = false;      // it is used up in most of its periods
    double granted = 0;      // CPU time a second that the quota grants; 0: not known
  };

  explicit CoreAccount(const Now& start) : updated_(start) {}

  // Call for each sample of a coupled thread of the target.
  void sampled(Nanoseconds period_ns, bool in_unit);
  // Call for each sample in the unit of a thread that is not coupled and rests.
  void rested(Nanoseconds period_ns) { before_.resting_unit_ns += period_ns; }
  // `since` covers the time since the update before.
  void update(const Now& now, const CoupledTime& since, const Sharing& sharing);

  // Adds to `totals` what is kept here, as of now.
  void add_to(CoreTotals& totals, const Now& now) const;

 private:
  // As of the last update.
  Now updated_;
  CoreTotals before_;
  Sharing sharing_;
  // CPU time a nanosecond, as found before the last update.
  double busiest_ = 0, peers_ = 0, all_peers_ = 0;
};

}  // namespace causalctl::causal
