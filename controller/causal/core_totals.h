// How the target's threads had their cores, and how often those that pass progress points met each
// other: what tells how well effects are known beside other programs (beside_strangers.h), and what
// all threads gain by a saving of one (share_effect.h). Passive.
#pragma once

#include <algorithm>
#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::causal {

struct CoreTotals {
  Nanoseconds cpu_ns = 0;            // of all threads, that of pauses included
  Nanoseconds stranger_wait_ns = 0;  // for cores, because of strangers (ledger.h) or a quota
  // Of the threads that pass progress points, of peers too: the time for which they ran;
  // the waits that known threads ended, on either side of which there was one of them; and the
  // waits of theirs that devices, timers or unknown threads ended.
  Nanoseconds visitors_cpu_ns = 0;
  std::uint64_t met = 0;
  std::uint64_t ended_externally = 0;
  // Where strangers share the cores, of the threads that wait for each other (Ledger::couple):
  // their CPU time, that of the busiest of them, and what of it fell in the selected unit.
  Nanoseconds coupled_cpu_ns = 0;
  Nanoseconds busiest_cpu_ns = 0;
  Nanoseconds coupled_unit_ns = 0;
  int cores = 0;            // on which the target may run; 0: how long they idled is not known
  Nanoseconds idle_ns = 0;  // of these together

  CoreTotals& operator+=(const CoreTotals& more) {
    cpu_ns += more.cpu_ns;
    stranger_wait_ns += more.stranger_wait_ns;
    visitors_cpu_ns += more.visitors_cpu_ns;
    met += more.met;
    ended_externally += more.ended_externally;
    coupled_cpu_ns += more.coupled_cpu_ns;
    busiest_cpu_ns += more.busiest_cpu_ns;
    coupled_unit_ns += more.coupled_unit_ns;
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
    since.idle_ns -= before.idle_ns;
    return since;
  }
};

}  // namespace causalctl::causal
