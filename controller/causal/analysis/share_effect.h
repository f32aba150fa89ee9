// What all threads gain by a saving of one of them where the target shares its cores with strangers
// (ledger.h). Pure.
//
// Let threads that wait for each other need L of time for a visit if they had the cores to
// themselves, and W of CPU time in all, on C cores beside strangers that want a core all the time.
// Under fair sharing each stranger gets as much of a core as the busiest of them, L of each visit's
// time T; so k of them get k L, and C T = k L + W. Then a unit that saves e of L, and s u of W (u
// is its share of W), saves
//
//   (k L e + s u W) / (C T) = (1 - p) e + s u p,   p = W / (C T), their part of the cores' time.
//
// Virtual time knows e. Code that threads run which wait for no other (coupling.h) is not
// concerned, and of code that both kinds run, the part that coupled threads have. Strangers that
// have less of the cores than the busiest of those threads do not want them all the time; they
// count for the part of the time that they would have as much.
//
// While a quota of CPU time is used up, what it grants stands for the cores' time, and threads that
// do not wait for the coupled ones for the strangers: then C T is what it grants in a visit's time.
// A visit never takes less time than it would if the quota stopped nothing. Where this is the
// longer, a faster unit leaves some of the quota unused.
#pragma once

#include <map>
#include <string>

#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

class ShareEffect {
 public:
  // Of throughput points only; `felt`: the point does not come at a pace of its own.
  ShareEffect(const Run& run, const Point& point, bool felt);

  // log(period / period of the baselines) of an experiment, so that the share effect is in it.
  double with_share(const Experiment& treatment, double log_ratio) const;

 private:
  struct Share {
    double coupled_ns = 0;  // CPU time of coupled threads, so that p is the scale times this
    double unit_ns = 0;     // what of it is in the unit, so that u p is the scale times this
    double coupled = 0;     // the part of the unit's CPU time that coupled threads had
  };
  // Returns what the program gains if the unit alone gains `effect`.
  static double mixed(const Share& share, double scale, double effect, double speedup);

  std::map<std::string, Share> shares_;  // by unit
  // The inverse of the CPU time, in ns, that strangers share with the target on the cores, and that
  // others share with it in the quota. It is weighted by how much of the time that holds.
  double cores_scale_ = 0;
  double quota_scale_ = 0;
  double stopped_ = 0;  // share of the baselines' time in which the quota stopped the target
};

}  // namespace causalctl::causal
