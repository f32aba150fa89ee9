// Says why a progress point was not visited, and why a run has no result, as far as either can be
// known. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/record/evidence.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// The evidence about a point without visits.
struct Silence {
  std::string point;
  PointCode code;
  Nanoseconds watched_ns = 0;
  TargetState target;
  Nanoseconds cpu_ns = 0;               // CPU time that the target used meanwhile
  Nanoseconds lately_ns = 0;            // the last part of the time that it was watched
  Nanoseconds lately_cpu_ns = 0;        // CPU time that the target used in that part
  std::uint64_t samples = 0;            // samples of the target
  std::uint64_t in_function = 0;        // samples in the point's function
  std::uint64_t stacks = 0;             // call stacks that were examined
  std::uint64_t on_stack = 0;           // call stacks with the point's function on them
  std::vector<std::string> inlined_at;  // "file:line" into which calls of the function are inlined
};

// Returns the reason, as "the target is stopped by a signal: kill -CONT lets it go on"; never
// empty.
std::string reason_of(const Silence& silence);
// Returns a sentence, as "item_done: no visit in 5 s; the target …".
std::string describe(const Silence& silence);
// Returns a sentence about a program that should end by itself, as "the program has not ended in 5
// s; the target …", if the target is stopped, is frozen, or waits: it used no CPU time lately. What
// it used before, as to start, tells nothing.
std::optional<std::string> describe_unended(const Silence& silence);

struct NoResult {
  std::string what;
  std::string hint;
};
// Returns why a run that has ended has no result: nothing was visited in its experiments, or none
// of them counts. Returns nullopt if there is a result for at least one point.
std::optional<NoResult> no_result(const Run& run);

}  // namespace causalctl::causal
