// Requests that begin and never pass their end, and ends that have no begin, told from those in
// flight. Pure.
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

struct Unpaired {
  bool ends = false;  // ends have no begin; otherwise begins have no end
  Interval share;     // of all of them, with a 99 % interval by how windows differ
};

// Returns nullopt if begins and ends may be equally many, as also for fewer than four windows.
std::optional<Unpaired> unpaired_share(std::span<const BeginsAndEnds> windows);
// Returns a warning. `so_of_begins` and `so_of_ends` are what begins without an end mean for the
// latency, and ends without a begin; a sentence.
std::string text_of_unpaired(const std::string& name, const Unpaired& unpaired,
                             const char* so_of_begins, const char* so_of_ends);

}  // namespace causalctl
