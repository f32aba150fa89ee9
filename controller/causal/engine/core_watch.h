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

  void start();         // call at the first step
  void assume_quota();  // taken to be used up until a check shows otherwise; call after start()

  void worked(Nanoseconds cpu_ns) { cpu_time_ns_ += cpu_ns; }
  void spun_in_pause(Nanoseconds cpu_ns) { standing_cpu_ns_ += cpu_ns; }
  // Call for each sample of a thread that is coupled with others.
  void coupled(Nanoseconds cpu_ns, bool in_unit) { account_.sampled(cpu_ns, in_unit); }
  // Call for each sample in the unit of a thread that is not coupled and rests.
  void rested(Nanoseconds cpu_ns) { account_.rested(cpu_ns); }
  // A thread waited for its core because the controller ran on it.
  void waited_for_us(Nanoseconds waited_ns) { wait_for_us_ns_ += waited_ns; }

  // A thread got its core after a wait, and the ledger has been told. Returns the foreign part of
  // the wait without what a quota caused of it.
  Nanoseconds got_core(Nanoseconds now_ns, const Ledger::OnCore& on_core);

  // Both do nothing if the target has hardly run since the last check. Call check() between
  // windows.
  void check() {
    const bool paused = parts_.pauser.totals().paid_ns != checked_paid_ns_;
    check(paused ? SharedCores::Shows::use_of_quota : SharedCores::Shows::use_and_disuse_of_quota);
  }
  void check_if_due(Nanoseconds now_ns) {
    if (now_ns - checked_.at_ns > longest_unchecked_ns_) {
      check(SharedCores::Shows::use_of_quota);
    }
  }

  Nanoseconds cpu_time_ns() const { return cpu_time_ns_; }  // of the target, by its samples
  // Returns the part of the waits for cores that other processes caused, without the controller. It
  // may fall for a moment, so clamp differences.
  Nanoseconds foreign_wait_ns() const { return ledger_.foreign_wait_ns() - wait_for_us_ns_; }
  // Totals since the start; the waits in them may fall for a moment, too. They do not say whether
  // threads spin.
  CoreTotals totals() const;
  const QuotaStops& quota_stops() const { return quota_stops_; }
  // These four are as of the last check.
  bool pauses_use_cpu() const { return shared_cores_.may_stand_awake(); }
  bool near_quota() const { return shared_cores_.near_quota(); }
  bool throttled() const { return throttled_; }

 private:
  void check(SharedCores::Shows shows);
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
  Nanoseconds stalled_ns_ = 0;       // as it was when a thread last got its core
  Nanoseconds stopped_wait_ns_ = 0;  // of foreign waits, what a quota caused
  CoreUse checked_;                  // as it was at the last check
  Nanoseconds checked_paid_ns_ = 0;  // what all pauses had paid at the last check
  Nanoseconds idle_before_ns_ = 0;   // as it was at the first step
  CoreAccount account_{{}};
  bool throttled_ = false;
};

}  // namespace causalctl::causal
