// Decides which runs of experiment logs may be averaged. Pure.
//
// The rule: two runs say something about the same unit only if they are of the same program and
// divide it in the same way. So a group has one build (the build-id or, if a log has none, the path
// of the executable), one kind of unit (lines or functions), one scope (which decides what time of
// its callees a unit has), either whole executions or parts of one, and one meaning for each
// latency point. Hosts, loads, periods, plans, fixed units and progress points may differ, because
// experiments are compared within their run, each unit is estimated from the runs that tried it,
// and each progress point from the runs that counted it (estimate.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// The properties that all runs of a group share.
struct Basis {
  std::string executable;
  std::string started_as;    // that of the first run; others may differ
  std::string build_id;      // empty if not known
  std::string unit_kind;     // "line" or "function"; empty if there is no unit
  std::string binary_scope;  // sorted globs, separated by spaces
  std::string file_scope;
  bool end_to_end = false;
  std::map<std::string, std::string> latency;  // by name, "from BEGIN to END"
};

Basis basis_of(const Run& run);

struct RunGroup {
  Basis basis;
  std::string name;  // tells the group from the others, as "server, by function"
  std::vector<Run> runs;
};

// Returns the groups in the order of their first runs. Within a group units of one name are one
// unit, and each unit has one name (join_units). A run without any unit joins the first group that
// it fits.
std::vector<RunGroup> group_runs(std::vector<Run> runs);

// Returns sentences on how the groups differ and what the user can do; none for a single group
// whose program is known.
std::vector<Warning> remarks_on(const std::vector<RunGroup>& groups);

// Returns one line for each group, as "\n  1  server, by line: 2 runs (5f0c81d2, 77a0b1c3)".
std::string list_of(const std::vector<RunGroup>& groups);

}  // namespace causalctl::causal
