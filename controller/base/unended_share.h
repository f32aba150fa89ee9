// Requests that begin and never pass their end, told from those in flight. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "controller/base/interval.h"

namespace causalctl {

struct BeginsAndEnds {  // of one window, such as an experiment
  std::uint64_t begins = 0;
  std::uint64_t ends = 0;
};

// Returns the share of begins that have no end, with a 99 % interval by how windows differ, if they
// exceed the ends for certain; otherwise nullopt, as also for fewer than four windows.
std::optional<Interval> unended_share(std::span<const BeginsAndEnds> windows);
// Returns a warning. `so` is what that means for the latency, a sentence.
std::string text_of_unended(const std::string& name, const Interval& share, const char* so);

}  // namespace causalctl
