// All progress points that a configuration names, found in one target: with each its tag, the index
// into both vectors, by which events and counts refer to it.
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

// Throws as resolve() does.
CountedPoints resolve_all(const config::Progress& progress, Pid target,
                          unwind::Symbolizer& symbolizer);

// "file.c:210" and tag of each point that is counted by samples.
std::vector<std::pair<std::string, std::uint32_t>> sampled_points(const CountedPoints& points);

}  // namespace causalctl::progress
