// Makes one execution of a program, from its first instruction to its end, one experiment with one
// unit of work (Coz's end-to-end mode). It is for programs that do one thing and end.
//
// The visit is the program's exit_group(2), stamped in virtual time as any other. The stamp
// contains what is still owed when the program ends, so that need not be paid. Effective time is
// the time from the start to that stamp. REQUIRES: the parts have one throughput point, tag 0,
// which is `kEndPoint` counted on the target.
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
  std::string unit;    // empty if the run only shows what is hot
  double speedup = 0;  // 0 in a baseline
  // A quota of CPU time is taken to be used up until the execution shows otherwise.
  bool under_quota = false;
};

// Calls `hooks.followed`, which lets the program go. Fills `run` with one experiment, the samples,
// losses and period. The experiment is `discarded` if it says nothing; run.reason is
// "target-exited", or "interrupted" if the user ended the run before the program ended.
void run_execution(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                   const PlannedExecution& planned, Run& run);

// Why a run does not count: more than a tenth of the unit's samples were symbolised too late to
// earn anything, so that hardly any speedup was applied. Returns an empty text if it counts. Pure.
std::string known_too_late(std::uint64_t in_time, std::uint64_t all);

// Returns what Plan::next() draws from: kEntriesByShare units, each as often as its share of all
// samples so far, because one run is too short. `offset`, in [0, 1), decides which of the units
// with less than one entry get one; if it is drawn anew each time, each gets its share on average.
// Returns an empty list if there are no samples. Pure.
inline constexpr std::size_t kEntriesByShare = 256;
std::vector<UnitId> entries_by_share(const std::vector<UnitSamples>& samples, double offset);

}  // namespace causalctl::causal
