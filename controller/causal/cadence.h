// How often the rings are drained, and how much a thread may owe before it is paused: as late and
// as rarely as accuracy allows. Lateness falsifies only what threads do to each other between two
// wake-ups (docs/virtual-time.md, "What a pause costs, and how late it may come"), so it is how
// often the target's own threads block that tells how late is too late. A program whose threads
// meet 25 times a second is drained, and paused, a quarter as often as one that has no such rest.
//
// The tick is chosen at the first experiment and from then on only ever gets shorter, between two
// experiments: baselines and treatments beside each other have the same one, so that what the
// controller takes from the target cancels. Pure.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::causal {

class Cadence {
 public:
  void start(Nanoseconds now_ns) { looked_at_ns_ = now_ns; }
  void blocked() { ++blocks_; }  // a thread of the target has, and not in a pause of ours
  // Threads wait by spinning, where lateness is dearer than pauses.
  void waits_by_spinning() { spinning_ = true; }
  void keep_shortest() { keep_shortest_ = true; }

  // Before an experiment: chooses by what there was since the last look, if that is long enough
  // ago. `core_wait_ns`: for which threads have waited for cores, summed, ever.
  void look(Nanoseconds now_ns, Nanoseconds core_wait_ns);

  // Whether threads of the target waited for cores between the last two looks.
  bool oversubscribed() const { return oversubscribed_; }
  Nanoseconds tick_ns() const { return tick_ns_; }
  Nanoseconds threshold_ns() const;  // of a debt, above which its thread is paused

 private:
  Nanoseconds affordable_tick_ns(Nanoseconds passed_ns) const;

  bool spinning_ = false;
  bool keep_shortest_ = false;
  bool oversubscribed_ = false;
  bool chosen_ = false;
  Nanoseconds tick_ns_ = 2 * kMillisecond;
  Nanoseconds looked_at_ns_ = 0;
  std::uint64_t blocks_ = 0;             // since then
  Nanoseconds core_wait_before_ns_ = 0;  // then
};

}  // namespace causalctl::causal
