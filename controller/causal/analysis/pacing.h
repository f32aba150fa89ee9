// Does progress wait for the program, or come at its own pace? Requests whose source does not wait
// for answers (an open system; Schroeder, Wierman and Harchol-Balter, "Open Versus Closed: A
// Cautionary Tale", NSDI 2006), a schedule, a device that is busy all the time: no code of the
// program makes these come more often, but in virtual time, which stands still for them with the
// program, they seem to. A virtual speedup alone cannot tell; a uniform pause can, in which all
// threads stand still for a part of the time (docs/virtual-time.md, "Progress at its own pace").
// Pure; measured by measure_pacing.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// Of one phase without and one with the uniform pause: visits a second, the part of the latter for
// which all threads stood still, and the share of the time for which those that visit waited
// otherwise than for a core, on average.
struct PacePair {
  double off = 0, on = 0;
  double paused_share = 0;
  double waited_off = 0, waited_on = 0;
};

inline constexpr std::size_t kFewestPairs = 3;  // that say anything

// nullopt: fewer pairs than that, or some phase without any visit.
std::optional<Pacing> pacing_of(std::string point, const std::vector<PacePair>& pairs,
                                bool cores_short = false);

// Of the time that the program stands still, the part that the point does not feel: 0 where it
// waits for the program alone, 1 where it comes at its own pace.
struct Unfelt {
  double share = 0;
  double error = 0;  // standard
};

using report::Pace;
Pace pace_of(const Pacing& pacing);

const Pacing* find_pacing(const Run& run, const std::string& point);  // null: not known
// For reports, of the first run that has it.
std::optional<report::Pacing> described_pacing(const std::vector<Run>& runs,
                                               const std::string& point);

bool all_at_own_pace(const Run& run);  // of those for which it was measured; false: of none

// For estimates: nothing where the pace is the program's; where it is certainly the point's own,
// and may be so altogether, all; else as measured, with its error.
Unfelt unfelt_of(const Run& run, const std::string& point);

}  // namespace causalctl::causal
