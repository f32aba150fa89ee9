// How a share, or a rate, differs between two recordings, with its 95 % interval. Pure.
//
// Each recording is cut into parts of its time. How much the parts differ says how many independent
// samples the samples are worth: samples of one moment are alike, because a program is in one phase
// at a time.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "controller/base/interval.h"

namespace causalctl::report::callpath {

// What one recording has of a function or path.
struct Measured {
  std::vector<double> values;    // by part of the recording
  std::vector<double> bases;     // what they are divided by: all of it, or time; as many, not all 0
  double samples_per_value = 0;  // how many samples stand behind a value of 1; 0 if not known
};

enum class Ratio {
  share,  // values are a part of the bases
  rate    // they may be anything
};

struct Change {
  double before = 0;
  double after = 0;
  // Of after - before. Nullopt if nothing tells how certain the two are: they are not known from
  // samples, and there are too few parts.
  std::optional<Interval> difference;
  // How probable a difference of this size is where there is none; 1 without an interval.
  double p_value = 1;
};

// Fewer parts tell nothing of how alike samples of one moment are.
inline constexpr std::size_t kFewestParts = 5;

// REQUIRES: both have bases that are not all 0.
Change change_of(const Measured& before, const Measured& after, Ratio ratio);

}  // namespace causalctl::report::callpath
