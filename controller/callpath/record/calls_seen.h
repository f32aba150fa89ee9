// Bounds of how many different calls the samples have seen on each path, from few values (edges.h
// tells which calls of a sample are certain to be new). Pure.
//
// A sample has seen all calls of its path, and the calls that are certain to be new are one part of
// the path, or few. So two values for each sample, and two for each such part, tell the same as a
// value for each node of the path. With S for the sum over a node and all that is below it:
//
//   new_max = S(chains)                  a sample's path goes through the node
//   new_min = S(new_to) - S(new_below)   a part goes through it that ends there or below
#pragma once

#include <cstdint>
#include <vector>

#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

// Counts one chain: `node` is the end of its path, and `is_new` tells of each of its calls whether
// it is certain to be new, innermost first.
void count_calls(const std::vector<bool>& is_new, NodeId node, std::uint32_t epoch,
                 std::uint32_t group, Recording& recording);

// Replaces chains, new_to and new_below by new_min and new_max, and takes out slices without
// values. Takes all new_max from `left`, and returns false if that is too little; some are replaced
// then.
bool sum_calls(Recording& recording, std::uint64_t& left);
inline bool sum_calls(Recording& recording) {
  std::uint64_t left = UINT64_MAX;
  return sum_calls(recording, left);
}

}  // namespace causalctl::callpath
