// How the target's threads had their cores, and how often those that pass progress points met each
// other: what tells how well effects are known beside other programs (beside_strangers.h). Passive.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::causal {

struct CoreTotals {
  Nanoseconds cpu_ns = 0;            // of all threads, that of pauses included
  Nanoseconds stranger_wait_ns = 0;  // for cores, because of strangers (ledger.h) or a quota
  // Of the threads that pass progress points, of followed peers too: the time for which they ran;
  // the waits that known threads ended, on either side of which there was one of them; and the
  // waits of theirs that devices, timers or unknown threads ended.
  Nanoseconds visitors_cpu_ns = 0;
  std::uint64_t met = 0;
  std::uint64_t ended_from_outside = 0;

  CoreTotals& operator+=(const CoreTotals& more) {
    cpu_ns += more.cpu_ns;
    stranger_wait_ns += more.stranger_wait_ns;
    visitors_cpu_ns += more.visitors_cpu_ns;
    met += more.met;
    ended_from_outside += more.ended_from_outside;
    return *this;
  }
  CoreTotals operator-(const CoreTotals& before) const {
    return {cpu_ns - before.cpu_ns, stranger_wait_ns - before.stranger_wait_ns,
            visitors_cpu_ns - before.visitors_cpu_ns, met - before.met,
            ended_from_outside - before.ended_from_outside};
  }
};

}  // namespace causalctl::causal
