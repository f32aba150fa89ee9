// Tells whether progress waits for the program or comes at its own pace. Requests whose source does
// not wait for answers have their own pace (an open system; Schroeder, Wierman and Harchol-Balter,
// "Open Versus Closed: A Cautionary Tale", NSDI 2006), as have a schedule and a device that is
// always busy. No code of the program makes them come more often, but in virtual time, which stands
// still in pauses, they seem to. A virtual speedup alone cannot tell. A uniform pause can: in it
// all threads stand still for a part of the time (docs/virtual-time.md, "Progress at its own
// pace"). Pure; measure_pacing.h measures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// What was measured in one phase without the uniform pause (off) and one with it (on): visits a
// second, the part of the time for which all threads stood still, and the share of the time for
// which visitors waited, on average, for other things than a core.
struct PacePair {
  double off = 0, on = 0;
  double paused_share = 0;
  double waited_off = 0, waited_on = 0;
};

inline constexpr std::size_t kFewestPairs = 3;

// Returns nullopt if there are fewer than kFewestPairs, or if some phase has no visit.
std::optional<Pacing> pacing_of(std::string point, const std::vector<PacePair>& pairs,
                                bool cores_short = false);

// Returns the pacing of a point that could not be tested, which is unknown.
Pacing untested(std::string point);

// The part of the time that the program stands still which the point does not feel: 0 if it waits
// for the program alone, 1 if it comes at its own pace.
struct Unfelt {
  double share = 0;
  double error = 0;  // standard error
};

using report::Pace;
Pace pace_of(const Pacing& pacing);

// Returns nullptr if the pacing is not known.
const Pacing* find_pacing(const Run& run, const std::string& point);
// Returns the pacing for reports, from the first run that has it.
std::optional<report::Pacing> described_pacing(const std::vector<Run>& runs,
                                               const std::string& point);

// Returns whether all points for which it was measured come at their own pace; false if there are
// none.
bool all_at_own_pace(const Run& run);

// Returns what estimates use: nothing is unfelt if the pace is the program's. All is unfelt if the
// pace is certainly the point's own and the interval allows all. Of what could not be tested it may
// be anything. Otherwise the share is as measured, with its error.
Unfelt unfelt_of(const Run& run, const std::string& point);

}  // namespace causalctl::causal
