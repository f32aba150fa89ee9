// Which runs of experiment logs may be averaged. Pure.
//
// The rule: two runs say something of the same unit only where they are of the same program and
// divide it in the same way. So a group has one build (build-id; where a log has none, the path of
// the executable), one kind of unit (lines or functions), one scope (which decides what time of
// callees a unit has), whole executions or parts of one, and one meaning for each latency point.
// Hosts, loads, periods, plans, fixed units and progress points may differ: experiments are
// compared within their run, each unit is estimated from the runs that tried it, and each progress
// point from the runs that counted it (estimate.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// What is the same in all runs of a group.
struct Basis {
  std::string executable;
  std::string started_as;    // of the first run; not told apart by it
  std::string build_id;      // "": not known
  std::string unit_kind;     // "line", "function"; "": no unit was met
  std::string binary_scope;  // sorted globs, separated by spaces
  std::string file_scope;
  bool end_to_end = false;
  std::map<std::string, std::string> latency;  // name → "from BEGIN to END"
};

Basis basis_of(const Run& run);

struct RunGroup {
  Basis basis;
  std::string name;  // tells it from the other groups: "server, by function"
  std::vector<Run> runs;
};

// In the order of their first runs. Within a group units of one name are one unit, and each has one
// name (join_units). A run without any unit joins the first group that it can belong to.
std::vector<RunGroup> group_runs(std::vector<Run> runs);

// Sentences on what tells the groups apart, and what can be done; nothing for one group whose
// program is known.
std::vector<Warning> remarks_on(const std::vector<RunGroup>& groups);

// "\n  1  server, by line: 2 runs (5f0c81d2, 77a0b1c3)", one line for each.
std::string list_of(const std::vector<RunGroup>& groups);

}  // namespace causalctl::causal
