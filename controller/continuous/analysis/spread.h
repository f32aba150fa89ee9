// How much functions differ between sets of samples, as dcpistats tells (DCPI §3.3, Figure 3).
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/continuous/analysis/rows.h"

namespace causalctl::continuous {

// What one set has: an epoch, or several together.
struct SampleSet {
  std::string name;
  Nanoseconds recorded_ns = 0;
  double units = 0;  // what its time is divided by: seconds that were recorded, or visits
  Rows rows = {};
};

// What the sets have of a function. Values are its CPU time in nanoseconds per unit of the set.
struct Spread {
  std::string name;
  std::string image;
  double sum = 0;        // of the values
  Interval mean = {};    // with its 95 % interval (Student's t)
  double deviation = 0;  // standard, of the values
  double least = 0, most = 0;
  double range = 0;  // (most - least) / sum
  // How probable such differences are if the sets are alike and samples are independent, for all
  // functions that were compared (Benjamini & Hochberg). 1 for those with too few samples.
  double adjusted_p = 1;
  bool is_compared = false;  // it has enough samples

  bool differs() const { return adjusted_p <= 0.05; }
};

// Returns a row for each function: those that differ first, then by range. Functions with less than
// `least_share` of all that do not differ are left out. REQUIRES: two sets or more, of which each
// has units.
std::vector<Spread> spread_of(const std::vector<SampleSet>& sets, double least_share);

}  // namespace causalctl::continuous
