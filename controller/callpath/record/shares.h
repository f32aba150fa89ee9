// Gives time whose path was not sampled to the paths that were. Pure.
//
// A thread that leaves its core too often is sampled at only some of the switches, chosen without
// regard to how long it will wait. So its other waits are taken to be like the sampled ones: their
// time is divided in proportion to the time of these, exactly, so that no time is lost. Not so time
// in which the process stood still: what stopped it chose one moment, which says nothing of others.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "controller/callpath/record/call_tree.h"

namespace causalctl::callpath {

struct WaitSums {
  std::uint64_t blocked_ns = 0;
  std::uint64_t runnable_ns = 0;
  std::uint64_t waits = 0;
  std::uint64_t stopped_ns = 0;
  std::uint64_t frozen_ns = 0;
  bool operator==(const WaitSums&) const = default;
};

// Returns `sum` in parts proportional to the weights, which add up to it. All is in the first part
// if all weights are 0. REQUIRES: there is a weight.
std::vector<std::uint64_t> divided(std::uint64_t sum, const std::vector<std::uint64_t>& weights);

// Makes the values add up to `sum`, in proportion to what they were. REQUIRES: there is a value.
void divide(std::uint64_t sum, std::map<NodeId, std::uint64_t>& values);

// Of one thread. Adds to `sampled` what `others` are taken to be.
void share_out(const WaitSums& others, std::map<NodeId, WaitSums>& sampled);

}  // namespace causalctl::callpath
