#include "controller/causal/engine/core_account.h"

#include <algorithm>

namespace causalctl::causal {

void CoreAccount::sampled(Nanoseconds period_ns, bool in_unit) {
  before_.coupled_cpu_ns += period_ns;
  if (in_unit) before_.coupled_unit_ns += period_ns;
}

void CoreAccount::update(const Now& now, const CoupledTime& since, const Sharing& sharing) {
  const auto passed = static_cast<double>(std::max<Nanoseconds>(now.at_ns - updated_.at_ns, 1));
  CoreTotals totals;
  add_to(totals, now);
  before_ = totals;
  updated_ = now;
  sharing_ = sharing;
  busiest_ = static_cast<double>(since.busiest_ns) / passed;
  peers_ = static_cast<double>(since.peers_ns) / passed;
  all_peers_ = static_cast<double>(since.all_peers_ns) / passed;
}

void CoreAccount::add_to(CoreTotals& totals, const Now& now) const {
  totals += before_;
  const auto passed = static_cast<double>(now.at_ns - updated_.at_ns);
  const auto of = [&](double rate) { return static_cast<Nanoseconds>(rate * passed); };
  // A target that stands still is not checked again. So its busiest thread has no more CPU time
  // than the target, unless that thread may be a peer's, of which only the rate is known.
  const Nanoseconds cpu_ns = now.cpu_ns - updated_.cpu_ns;
  const Nanoseconds busiest_ns = peers_ > 0 ? of(busiest_) : std::min(of(busiest_), cpu_ns);
  totals.busiest_cpu_ns += busiest_ns;
  totals.coupled_cpu_ns += of(peers_);
  totals.peers_cpu_ns += of(all_peers_);
  if (sharing_.strangers) {
    totals.stranger_wait_ns += now.stranger_wait_ns - updated_.stranger_wait_ns;
  }
  if (!sharing_.quota) return;
  totals.quota_ns += now.at_ns - updated_.at_ns;
  totals.quota_stopped_ns += now.quota_stopped_ns - updated_.quota_stopped_ns;
  totals.quota_granted_ns += sharing_.granted > 0 ? of(sharing_.granted) : cpu_ns + of(all_peers_);
}

}  // namespace causalctl::causal
