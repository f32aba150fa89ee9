// Chooses what counts a point by what that costs the target, here and there.
//
// A breakpoint costs its thread a trap at each visit, and some processors run all code in its cache
// line several times slower while it is armed. Breakpoints that look dear after the survey, because
// they are hit often or many samples lie in their cache lines, rest and stand in turn while uprobes
// count the same visits. If the target is slower with them by more than uprobes cost it, these
// count from then on.
//
// Where threads begin often, breakpoints miss what each passes first. Then uprobes count all
// points, or, if they cannot count one of them, none: a latency whose begin is counted otherwise
// than its end has no pairs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/causal/experiments/phases.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct BreakpointCost {
  // By which part of its time a piece of work takes longer with the breakpoints, and the ends of
  // the 95 % interval; nullopt if visits are too few to tell.
  std::optional<double> longer;
  double low = 0, high = 0;
  bool hot_line = false;    // many samples lie in their cache lines
  double uprobe_share = 0;  // what uprobes take of the target's CPU time
};

// By tag.
using KeptBreakpoints = std::map<std::uint32_t, BreakpointCost>;

// Pure.
bool uprobes_are_better(const BreakpointCost& cost);
// Returns which part of its speed the target certainly loses by the breakpoints. Pure.
double lost_by(const BreakpointCost& cost);
// Returns why uprobes count a point, as a clause for the report. Pure.
std::string why_uprobes(const BreakpointCost& cost);

bool has_breakpoints(const progress::Armory& armory, std::uint32_t tag);

// Returns the points whose breakpoints look dear, by tag. Those of a latency are not among them: if
// one end was not counted for a moment, what is in progress would be wrong ever after. REQUIRES:
// the survey is over.
std::vector<std::uint32_t> dear_breakpoints(const Calibration& with);

// Takes uprobes for all points that breakpoints count, if these miss visits because threads begin
// often, and uprobes count the same. Then `run.counting` says so, and what was in progress is not
// known any more.
void count_births(const Calibration& with, Run& run);

// Measures for at most `budget_ns` in all, and takes uprobes where they are better: then
// `run.counting` says so. Returns what was measured of each point that breakpoints go on counting.
KeptBreakpoints choose_counting(const Calibration& with, Nanoseconds budget_ns, Run& run);

}  // namespace causalctl::causal
