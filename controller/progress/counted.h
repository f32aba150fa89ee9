// All progress points that a configuration names, found in one target. The tag of a point is its
// index in both vectors; events and counts refer to it by its tag.
#pragma once

#include <utility>
#include <vector>

#include "config/config.h"
#include "controller/progress/counters.h"
#include "controller/progress/progress.h"

namespace causalctl::progress {

struct CountedPoints {
  std::vector<CountedPoint> counted;
  std::vector<Point> resolved;
};

// Throws the same as resolve().
CountedPoints resolve_all(const config::Progress& progress, Pid target,
                          unwind::Symbolizer& symbolizer);

// Returns "file.c:210" and the tag of each point that is counted by samples.
std::vector<std::pair<std::string, std::uint32_t>> sampled_points(const CountedPoints& points);

}  // namespace causalctl::progress
