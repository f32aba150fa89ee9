#include "controller/causal/engine/core_account.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

// After 100 ms a coupled thread has had 60 ms, coupled peers 40, and all peers 50.
constexpr CoupledTime kCoupled = {60 * kMillisecond, 40 * kMillisecond, 50 * kMillisecond};

CoreTotals totals(const CoreAccount& account, const CoreAccount::Now& now) {
  CoreTotals result;
  account.add_to(result, now);
  return result;
}

}  // namespace

TEST_CASE("before the first check nothing is known", "[causal][core_account]") {
  const CoreAccount account({0, 0, 0});
  const CoreTotals all =
      totals(account, {100 * kMillisecond, 80 * kMillisecond, 30 * kMillisecond});
  CHECK(all.busiest_cpu_ns == 0);
  CHECK(all.stranger_wait_ns == 0);
}

TEST_CASE("after a check all goes on as it was before it", "[causal][core_account]") {
  CoreAccount account({0, 0, 0});
  account.update({100 * kMillisecond, 80 * kMillisecond, 30 * kMillisecond}, kCoupled,
                 {.strangers = true});
  account.sampled(2 * kMillisecond, false);
  account.sampled(3 * kMillisecond, true);
  const CoreTotals all =
      totals(account, {300 * kMillisecond, 240 * kMillisecond, 100 * kMillisecond});
  CHECK(all.busiest_cpu_ns == 120 * kMillisecond);
  CHECK(all.coupled_cpu_ns == (80 + 5) * kMillisecond);
  CHECK(all.coupled_unit_ns == 3 * kMillisecond);
  CHECK(all.peers_cpu_ns == 100 * kMillisecond);
  CHECK(all.stranger_wait_ns == 70 * kMillisecond);
  SECTION("until the next") {
    account.update({300 * kMillisecond, 240 * kMillisecond, 100 * kMillisecond}, {}, {});
    const CoreTotals later =
        totals(account, {500 * kMillisecond, 400 * kMillisecond, 190 * kMillisecond});
    CHECK(later.busiest_cpu_ns == all.busiest_cpu_ns);
    CHECK(later.coupled_cpu_ns == all.coupled_cpu_ns);
    CHECK(later.peers_cpu_ns == all.peers_cpu_ns);
    CHECK(later.stranger_wait_ns == all.stranger_wait_ns);
  }
}

TEST_CASE("the busiest thread has no more than all of the target", "[causal][core_account]") {
  CoreAccount account({0, 0, 0});
  account.update({100 * kMillisecond, 80 * kMillisecond, 0}, {60 * kMillisecond, 0, 0},
                 {.strangers = true});
  CHECK(totals(account, {10'000 * kMillisecond, 90 * kMillisecond, 0}).busiest_cpu_ns ==
        10 * kMillisecond);
}

TEST_CASE("while a quota is used up what it grants is counted", "[causal][core_account]") {
  CoreAccount account({0, 0, 0, 0});
  const CoreAccount::Now checked = {100 * kMillisecond, 80 * kMillisecond, 30 * kMillisecond,
                                    20 * kMillisecond};
  const CoreAccount::Now now = {300 * kMillisecond, 240 * kMillisecond, 100 * kMillisecond,
                                120 * kMillisecond};
  CoreAccount::Sharing sharing{.strangers = true, .quota = true, .granted = 0.5};
  SECTION("by its own figure") {
    account.update(checked, kCoupled, sharing);
    const CoreTotals all = totals(account, now);
    CHECK(all.quota_ns == 200 * kMillisecond);
    CHECK(all.quota_stopped_ns == 100 * kMillisecond);
    CHECK(all.quota_granted_ns == 100 * kMillisecond);
  }
  SECTION("by what the target and its peers use where nobody tells") {
    sharing.granted = 0;
    account.update(checked, kCoupled, sharing);
    CHECK(totals(account, now).quota_granted_ns == (160 + 100) * kMillisecond);
  }
  SECTION("not before and after") {
    account.update(checked, kCoupled, {.strangers = true});
    CHECK(totals(account, now).quota_ns == 0);
    CHECK(totals(account, now).quota_stopped_ns == 0);
  }
}

}  // namespace causalctl::causal
