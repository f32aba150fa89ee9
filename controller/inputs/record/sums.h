// Adds up what a recording has of the same size. Pure.
#pragma once

#include <algorithm>
#include <cstddef>

#include "controller/inputs/record/recording.h"

namespace causalctl::inputs {

inline void add_up(const Cost& one, Cost& all) {
  all.min = std::min(all.min, one.min);
  all.max = std::max(all.max, one.max);
  all.sum += one.sum;
  all.sum_of_squares += one.sum_of_squares;
}

// The sum has the size of the row that was added last.
inline void add_up(const SizeRow& one, SizeRow& all) {
  all.size = one.size;
  all.calls += one.calls;
  for (std::size_t unit = 0; unit < kCostUnits; ++unit) {
    add_up(one.cost[unit], all.cost[unit]);
    add_up(one.own[unit], all.own[unit]);
    all.outermost[unit] += one.outermost[unit];
  }
  all.external += one.external;
  all.thread += one.thread;
}

}  // namespace causalctl::inputs
