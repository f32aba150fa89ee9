#include "controller/causal/engine/shared_cores.h"

#include "controller/causal/record/core_totals.h"

namespace causalctl::causal {
namespace {

// If this share of the waits falls in moments in which all threads of the target wait, a quota
// keeps them from running; strangers stop one thread at a time.
constexpr double kTogether = 0.8;
// Share of a quota's periods in which it must be used up. Otherwise CPU time is left over that a
// faster program would not need.
constexpr double kMostPeriods = 0.5;
// A quota that was used up in most periods is taken to be so until it is in fewer than this share.
constexpr double kFewPeriods = 0.25;

}  // namespace

CoreUse operator-(const CoreUse& now, const CoreUse& before) {
  CoreUse since = now;
  since.at_ns -= before.at_ns;
  since.cpu_ns -= before.cpu_ns;
  since.stranger_wait_ns -= before.stranger_wait_ns;
  since.withheld_ns -= before.withheld_ns;
  since.together_ns -= before.together_ns;
  since.idle_ns.reset();
  if (now.idle_ns && before.idle_ns) since.idle_ns = *now.idle_ns - *before.idle_ns;
  return since;
}

void SharedCores::update(const CoreUse& use, int cores, const CpuLimits& limits, Shows shows) {
  const auto waited = static_cast<double>(use.stranger_wait_ns);
  const bool together = use.together_ns > kTogether * use.withheld_ns;
  // A core may be free while a thread waits, because the scheduler has put two threads on one. A
  // thread that waits for strangers waits no longer than these run; only for a quota may all
  // threads wait.
  bool others_hardly_ran = false;
  if (use.idle_ns) {
    const Nanoseconds others_ns = cores * use.at_ns - *use.idle_ns - use.cpu_ns - use.peers_cpu_ns;
    others_hardly_ran = 2 * static_cast<double>(others_ns) < waited;
  }
  const bool by_placement = others_hardly_ran && !limits.throttled && !together;
  const bool waits = waited > kSharedFrom * static_cast<double>(use.cpu_ns) && !by_placement;
  // Where the kernel counts it, a core that nobody else wants is as good a sign as stopping
  // together: a quota is granted in portions of 5 ms, so that cores stop at different times.
  const bool used_up = limits.used_up
                           ? *limits.used_up > kMostPeriods && (together || others_hardly_ran)
                           : together && waits && others_hardly_ran;
  const bool often_used_up = limits.used_up.value_or(0) > kFewPeriods;
  if (used_up || (quota_ && often_used_up)) {
    quota_ = true;
  } else if (shows == Shows::use_and_disuse_of_quota) {
    quota_ = false;
  }
  if (limits.granted) granted_ = *limits.granted;
  near_quota_ = quota_ || often_used_up;
  shared_ = waits || quota_;
  const bool may_be_quota = limits.throttled || (together && !limits.used_up);
  awake_ = shared_ && !may_be_quota && !limits.is_counted;
}

}  // namespace causalctl::causal
