// How the target has its cores: the CPU time that it uses, how long it waits and why, and
// whether strangers share them (rule 13 of docs/virtual-time.md).
#pragma once

#include "controller/base/types.h"
#include "controller/causal/engine/core_account.h"
#include "controller/causal/engine/engine_parts.h"
#include "controller/causal/engine/ledger.h"
#include "controller/causal/engine/quota_stops.h"
#include "controller/causal/engine/shared_cores.h"
#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {

class CoreWatch {
 public:
  // Whether strangers share the cores is checked before each experiment, and within a long one
  // after `longest_unchecked_ns`. Both arguments outlive it.
  CoreWatch(const EngineParts& parts, Ledger& ledger, Nanoseconds longest_unchecked_ns)
      : parts_(parts), ledger_(ledger), longest_unchecked_ns_(longest_unchecked_ns) {}

  void start();  // at the first step

  void worked(Nanoseconds cpu_ns) { cpu_time_ns_ += cpu_ns; }
  void spun_in_pause(Nanoseconds cpu_ns) { standing_cpu_ns_ += cpu_ns; }
  // A sample of a thread that is coupled with others.
  void coupled(Nanoseconds cpu_ns, bool in_unit) { account_.sampled(cpu_ns, in_unit); }
  // A thread waited for its core because the controller had it.
  void waited_for_us(Nanoseconds waited_ns) { wait_for_us_ns_ += waited_ns; }

  // A thread got its core after a wait, and the ledger knows. Returns what of the wait a quota
  // caused.
  Nanoseconds got_core(Nanoseconds now_ns, Nanoseconds waited_ns);

  // Does nothing if the target has hardly run since the last check.
  void check();
  void check_if_due(Nanoseconds now_ns) {
    if (now_ns - checked_.at_ns > longest_unchecked_ns_) check();
  }

  Nanoseconds cpu_time_ns() const { return cpu_time_ns_; }  // of the target, by its samples
  // What other processes caused of the waits for cores, without the controller. May fall for a
  // moment: clamp differences.
  Nanoseconds foreign_wait_ns() const { return ledger_.foreign_wait_ns() - wait_for_us_ns_; }
  // Ever growing; its waits may fall for a moment, too. Does not know whether threads spin.
  CoreTotals totals() const;
  const QuotaStops& quota_stops() const { return quota_stops_; }
  // As of the last check:
  bool pauses_use_cpu() const { return shared_cores_.may_stand_awake(); }
  bool throttled() const { return throttled_; }

 private:
  CoreUse use() const;
  CoreAccount::Now account_of(const CoreUse& use) const;

  const EngineParts& parts_;
  Ledger& ledger_;
  Nanoseconds longest_unchecked_ns_;
  Nanoseconds cpu_time_ns_ = 0;
  Nanoseconds standing_cpu_ns_ = 0;  // used by pauses
  Nanoseconds wait_for_us_ns_ = 0;
  SharedCores shared_cores_;
  QuotaStops quota_stops_;
  Nanoseconds stalled_ns_ = 0;       // until a thread got its core last
  Nanoseconds stopped_wait_ns_ = 0;  // waits that a quota caused, summed over threads
  CoreUse checked_;                  // as it was at the last check
  Nanoseconds idle_before_ns_ = 0;   // the first step
  CoreAccount account_{{}};
  bool throttled_ = false;
};

}  // namespace causalctl::causal
