// How the target's threads had their cores, and how often those that pass progress points met each
// other: what tells how well effects are known beside other programs (beside_strangers.h), and what
// all threads gain by a saving of one (share_effect.h). Passive.
#pragma once

#include <algorithm>
#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::causal {

// Whether cores were short: more than a quarter of a thread waited for one, on average.
inline bool short_of_cores(Nanoseconds waited_ns, Nanoseconds passed_ns) {
  return 4 * waited_ns > passed_ns;
}

// Waits of less than this part of the CPU time are moments on the way to a core.
inline constexpr double kSharedFrom = 0.05;

// CPU time that coupled threads (coupling.h) had in some stretch of time.
struct CoupledTime {
  Nanoseconds busiest_ns = 0;    // the busiest of them
  Nanoseconds peers_ns = 0;      // those of followed processes
  Nanoseconds all_peers_ns = 0;  // all threads of followed processes, coupled or not
};

struct CoreTotals {
  Nanoseconds cpu_ns = 0;  // of all threads, that of pauses included
  // For cores, because of strangers (ledger.h) or a quota, while these were found to share them.
  Nanoseconds stranger_wait_ns = 0;
  // Of the threads that pass progress points, of peers too: the time for which they ran;
  // the waits that known threads ended, on either side of which there was one of them; and the
  // waits of theirs that devices, timers or unknown threads ended.
  Nanoseconds visitors_cpu_ns = 0;
  std::uint64_t met = 0;
  std::uint64_t ended_externally = 0;
  bool spin = false;  // threads wait by spinning, so that not all meetings are seen
  // Of the threads that wait for each other (coupling.h), of peers too: their CPU time,
  // that of the busiest of them, and what of it fell in the selected unit.
  Nanoseconds coupled_cpu_ns = 0;
  Nanoseconds busiest_cpu_ns = 0;
  Nanoseconds coupled_unit_ns = 0;
  Nanoseconds peers_cpu_ns = 0;  // of all threads of peers
  // While a quota was used up in most of its periods: for how long; of which it stopped the target,
  // so that this is not in stranger_wait_ns; and the CPU time that it granted, also to others.
  Nanoseconds quota_ns = 0;
  Nanoseconds quota_stopped_ns = 0;
  Nanoseconds quota_granted_ns = 0;
  int cores = 0;            // on which the target may run; 0: how long they idled is not known
  Nanoseconds idle_ns = 0;  // of these together

  CoreTotals& operator+=(const CoreTotals& more) {
    cpu_ns += more.cpu_ns;
    stranger_wait_ns += more.stranger_wait_ns;
    visitors_cpu_ns += more.visitors_cpu_ns;
    met += more.met;
    ended_externally += more.ended_externally;
    spin = spin || more.spin;
    coupled_cpu_ns += more.coupled_cpu_ns;
    busiest_cpu_ns += more.busiest_cpu_ns;
    coupled_unit_ns += more.coupled_unit_ns;
    peers_cpu_ns += more.peers_cpu_ns;
    quota_ns += more.quota_ns;
    quota_stopped_ns += more.quota_stopped_ns;
    quota_granted_ns += more.quota_granted_ns;
    cores = std::max(cores, more.cores);
    idle_ns += more.idle_ns;
    return *this;
  }
  CoreTotals operator-(const CoreTotals& before) const {
    CoreTotals since = *this;
    since.cpu_ns -= before.cpu_ns;
    since.stranger_wait_ns -= before.stranger_wait_ns;
    since.visitors_cpu_ns -= before.visitors_cpu_ns;
    since.met -= before.met;
    since.ended_externally -= before.ended_externally;
    since.coupled_cpu_ns -= before.coupled_cpu_ns;
    since.busiest_cpu_ns -= before.busiest_cpu_ns;
    since.coupled_unit_ns -= before.coupled_unit_ns;
    since.peers_cpu_ns -= before.peers_cpu_ns;
    since.quota_ns -= before.quota_ns;
    since.quota_stopped_ns -= before.quota_stopped_ns;
    since.quota_granted_ns -= before.quota_granted_ns;
    since.idle_ns -= before.idle_ns;
    return since;
  }
};

}  // namespace causalctl::causal
