// Zero is a finding: why a progress point was not visited, and why a run has no result, as far as
// either can be known. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/record/evidence.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// What is known of a point without visits.
struct Silence {
  std::string point;
  PointCode code;
  Nanoseconds watched_ns = 0;
  TargetState target;
  Nanoseconds cpu_ns = 0;               // that the target used meanwhile
  std::uint64_t samples = 0;            // of the target
  std::uint64_t in_function = 0;        // … of which in the point's function
  std::uint64_t stacks = 0;             // call stacks that were examined
  std::uint64_t on_stack = 0;           // … with the point's function on them
  std::vector<std::string> inlined_at;  // "file:line" into which calls of the function are inlined
};

// "the target is stopped by a signal: kill -CONT lets it go on". Never empty.
std::string reason_of(const Silence& silence);
// "item_done: no visit in 5 s; the target …"
std::string describe(const Silence& silence);
// Whether that is because the target does not run: it is stopped, frozen, or waits.
bool is_at_rest(const Silence& silence);
// Of a program that is to end by itself: "the program has not ended in 5 s; the target …"
std::string describe_unended(const Silence& silence);

struct NoResult {
  std::string what;
  std::string hint;
};
// Of a run that has ended: nothing was visited in its experiments, or none of them counts. nullopt:
// there is a result, of one point at least.
std::optional<NoResult> no_result(const Run& run);

}  // namespace causalctl::causal
