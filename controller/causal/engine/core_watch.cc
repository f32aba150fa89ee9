#include "controller/causal/engine/core_watch.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kEnoughToCheck = 100 * kMillisecond;  // of CPU time

}  // namespace

void CoreWatch::start() {
  checked_ = use();
  idle_before_ns_ = checked_.idle_ns.value_or(0);
  account_ = CoreAccount(account_of(checked_));
}

void CoreWatch::assume_quota() {
  shared_cores_.assume_quota();
  ledger_.share_cores(true);
  quota_stops_.set_active(true);
  account_.update(account_of(checked_), {}, {.strangers = true, .quota = true});
}

CoreUse CoreWatch::use() const {
  CoreUse use;
  use.at_ns = parts_.clock.now();
  use.cpu_ns = cpu_time_ns_ + standing_cpu_ns_;
  use.stranger_wait_ns = ledger_.stranger_wait_ns() - wait_for_us_ns_;
  use.withheld_ns = ledger_.withheld().all_ns;
  use.together_ns = ledger_.withheld().together_ns;
  use.idle_ns = parts_.idle_ns ? parts_.idle_ns() : std::nullopt;
  return use;
}

CoreAccount::Now CoreWatch::account_of(const CoreUse& use) const {
  return {use.at_ns, use.cpu_ns, use.stranger_wait_ns - stopped_wait_ns_, quota_stops_.total_ns()};
}

// A wait may be foreign only in part, because more threads wait than there are cores. That part is
// taken to be the same in stops and between them.
Nanoseconds CoreWatch::got_core(Nanoseconds now_ns, const Ledger::OnCore& on_core) {
  const Nanoseconds stalled_ns = ledger_.stalled_ns();
  quota_stops_.stopped(now_ns - (stalled_ns - stalled_ns_), now_ns);
  stalled_ns_ = stalled_ns;
  if (on_core.waited_ns <= 0) return on_core.kept_off_ns;
  const double stopped =
      static_cast<double>(quota_stops_.within(now_ns - on_core.waited_ns, now_ns)) /
      static_cast<double>(on_core.waited_ns);
  const auto in_stops_ns =
      static_cast<Nanoseconds>(stopped * static_cast<double>(on_core.kept_off_ns));
  stopped_wait_ns_ += in_stops_ns;
  return on_core.kept_off_ns - in_stops_ns;
}

CoreTotals CoreWatch::totals() const {
  const CoreUse now = use();
  CoreTotals totals = ledger_.meetings();
  totals.cpu_ns = now.cpu_ns;
  if (now.idle_ns) {
    totals.cores = parts_.cores;
    totals.idle_ns = *now.idle_ns - idle_before_ns_;
  }
  account_.add_to(totals, account_of(now));
  return totals;
}

void CoreWatch::check(SharedCores::Shows shows) {
  if (cpu_time_ns_ + standing_cpu_ns_ - checked_.cpu_ns < kEnoughToCheck) return;
  const CoreUse now = use();
  const CpuLimits limits = parts_.cpu_limits ? parts_.cpu_limits() : CpuLimits{};
  const CoupledTime coupled = ledger_.couple();
  CoreUse since = now - checked_;
  since.peers_cpu_ns = coupled.all_peers_ns;
  shared_cores_.update(since, parts_.cores, limits, shows);
  ledger_.share_cores(shared_cores_.shared());
  quota_stops_.set_active(shared_cores_.quota());
  account_.update(account_of(now), coupled,
                  {shared_cores_.shared(), shared_cores_.quota(), shared_cores_.granted()});
  throttled_ = limits.throttled;
  parts_.pauser.stand_awake(shared_cores_.may_stand_awake());
  checked_ = now;
  checked_paid_ns_ = parts_.pauser.totals().paid_ns;
}

}  // namespace causalctl::causal
