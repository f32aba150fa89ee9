// Identifies units and names them. Pure.
//
// A line is identified by its file and number; a function by its name and its file (its binary, if
// there is no line information), so that two static functions of one name are two units. The names
// that are shown are the shortest that tell all units apart: `util.c:10`, `lib/util.c:10`; `parse`,
// `json.c:parse`, `libjson.so:parse`. A call path is identified by what its steps are identified
// by.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns an identity that only this code has, the same in all runs of one build. If only the name
// is known (in a log of another version), it is the name.
std::string identity_of(const Unit& unit);

// Returns what the unit can be called, shortest first; the last name tells it from every other
// unit.
std::vector<std::string> names_of(const Unit& unit);

// Returns whether `name` is one of names_of(), or BINARY:FUNCTION for a function.
bool may_be_called(const Unit& unit, const std::string& name);

// Returns the shortest of names_of() that is not taken.
std::string free_name(const Unit& unit, const std::function<bool(const std::string&)>& taken);

// Returns the units that `wanted` can mean: the one with this identity or, if there is none, those
// that may be called so. REQUIRES: all `units` differ.
std::vector<Unit> meant(const std::vector<Unit>& units, const std::string& wanted);

// Adds to `known` what a line of a log says of the unit; such a line leaves out what is not known.
void learn(Unit& known, const Unit& unit);

// Renames the units of all runs, since each run named its units for itself. Afterwards each unit
// has one name in all runs, and no two units share a name. REQUIRES: this already holds within each
// run.
void join_units(std::vector<Run>& runs);

}  // namespace causalctl::causal
