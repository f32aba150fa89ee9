// One execution of a program, from its first instruction to its end, as one experiment with one
// unit of work (Coz's end-to-end mode): for programs that do one thing and end.
//
// The visit is the program's exit_group(2), stamped in virtual time like any other: what is still
// owed when the program ends is in the stamp, so it need not be paid. Effective time = from the
// start to that stamp. REQUIRES of the parts: one throughput point, tag 0, which is
// `kEndPoint` counted on the target.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/causal/engine/engine.h"
#include "controller/causal/experiments/experiment_loop.h"
#include "controller/causal/experiments/plan.h"
#include "controller/causal/experiments/settings.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

inline constexpr const char* kEndPoint = "syscall:exit_group";
inline constexpr const char* kEndToEnd = "end-to-end";  // the point's name in logs and reports

struct PlannedExecution {
  std::string unit;    // empty: nothing is selected, the run only shows what is hot
  double speedup = 0;  // 0: a baseline
};

// `hooks.followed` lets the program go. Fills `run`: one experiment, the samples, losses, period.
// The experiment is `discarded` where it says nothing; run.reason is "target-exited", or
// "interrupted" where the user ended it before the program did.
void run_execution(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                   const PlannedExecution& planned, Run& run);

// Why a run does not count in which too many of the unit's samples earned nothing, as what they are
// was known too late: more than a tenth of all of it. Its treatment would be none. Empty: it
// counts. Pure.
std::string known_too_late(std::uint64_t in_time, std::uint64_t all);

// What Plan::next() draws from: kEntriesByShare units, each as often as its share of all samples so
// far says (one run is short). `offset`, in [0, 1), decides who gets an entry among units that have
// less than one; where it is drawn anew each time, each has its share. Empty: no samples. Pure.
inline constexpr std::size_t kEntriesByShare = 256;
std::vector<UnitId> entries_by_share(const std::vector<UnitSamples>& samples, double offset);

}  // namespace causalctl::causal
