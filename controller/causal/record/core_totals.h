// How the target's threads had their cores, and how often threads that pass progress points met
// each other. beside_strangers.h concludes from it how well effects are known beside other
// programs, share_effect.h what all threads gain if one saves time. Passive.
#pragma once

#include <cstdint>
#include <tuple>

#include "controller/base/fields.h"
#include "controller/base/types.h"

namespace causalctl::causal {

// Returns whether cores were short: on average, more than a quarter of a thread waited for one.
inline bool short_of_cores(Nanoseconds waited_ns, Nanoseconds passed_ns) {
  return 4 * waited_ns > passed_ns;
}

// Waits that are a smaller part of the CPU time than this are normal delays before a thread runs.
inline constexpr double kSharedFrom = 0.05;

// The CPU time that coupled threads (coupling.h) had in some stretch of time.
struct CoupledTime {
  Nanoseconds busiest_ns = 0;    // of the busiest one
  Nanoseconds peers_ns = 0;      // of those that belong to peers
  Nanoseconds all_peers_ns = 0;  // of all threads of peers, coupled or not
};

struct CoreTotals {
  Nanoseconds cpu_ns = 0;  // CPU time of all threads, with that of pauses
  // Time for which threads waited for cores because of strangers (ledger.h) or a quota. It counts
  // only while strangers or a quota were found to share the cores.
  Nanoseconds stranger_wait_ns = 0;
  // Visitors are the threads that pass progress points, those of peers included. `met` counts the
  // waits that a known thread ended and in which a visitor waited or woke; `ended_externally`
  // counts the waits of visitors that devices, timers or unknown threads ended.
  Nanoseconds visitors_cpu_ns = 0;
  std::uint64_t met = 0;
  std::uint64_t ended_externally = 0;
  bool spin = false;  // threads wait by spinning, so that not all meetings are seen
  // CPU time of the threads that wait for each other (coupling.h), those of peers included: of all,
  // of the busiest one, and of all in the selected unit.
  Nanoseconds coupled_cpu_ns = 0;
  Nanoseconds busiest_cpu_ns = 0;
  Nanoseconds coupled_unit_ns = 0;
  // CPU time in the selected unit of threads that are not coupled and rest: a device or a timer had
  // ended a wait of theirs shortly before.
  Nanoseconds resting_unit_ns = 0;
  Nanoseconds peers_cpu_ns = 0;  // of all threads of peers
  // These three count only while a quota was used up in most of its periods: for how long it was
  // so; for how long the quota stopped the target then, which stranger_wait_ns does not contain;
  // and the CPU time that the quota granted to everything under it.
  Nanoseconds quota_ns = 0;
  Nanoseconds quota_stopped_ns = 0;
  Nanoseconds quota_granted_ns = 0;
  int cores = 0;  // the cores on which the target may run; 0 if their idle time is not known
  Nanoseconds idle_ns = 0;  // idle time of these cores, summed

  static constexpr auto fields() {
    return std::tuple{Field("cpu_ns", &CoreTotals::cpu_ns),
                      Field("stranger_wait_ns", &CoreTotals::stranger_wait_ns),
                      Field("visitors_cpu_ns", &CoreTotals::visitors_cpu_ns),
                      Field("met", &CoreTotals::met),
                      Field("ended_from_outside", &CoreTotals::ended_externally),
                      Field("spin", &CoreTotals::spin),
                      Field("coupled_cpu_ns", &CoreTotals::coupled_cpu_ns),
                      Field("busiest_cpu_ns", &CoreTotals::busiest_cpu_ns),
                      Field("coupled_unit_ns", &CoreTotals::coupled_unit_ns),
                      Field("resting_unit_ns", &CoreTotals::resting_unit_ns),
                      Field("peers_cpu_ns", &CoreTotals::peers_cpu_ns),
                      Field("quota_ns", &CoreTotals::quota_ns),
                      Field("quota_stopped_ns", &CoreTotals::quota_stopped_ns),
                      Field("quota_granted_ns", &CoreTotals::quota_granted_ns),
                      Field("cores", &CoreTotals::cores, kLargest),
                      Field("idle_ns", &CoreTotals::idle_ns)};
  }
  CoreTotals& operator+=(const CoreTotals& more) {
    merge(*this, more);
    return *this;
  }
  CoreTotals operator-(const CoreTotals& before) const { return growth(*this, before); }
};

}  // namespace causalctl::causal
