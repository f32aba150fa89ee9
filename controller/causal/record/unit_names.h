// Which unit a unit is, and what it is called. Pure.
//
// A line is its file and number; a function its name and the file that it is in, or, without line
// information, its binary: two static functions of one name are two units. Names that are shown are
// as short as tells all of them apart: `util.c:10`, `lib/util.c:10`; `parse`, `json.c:parse`,
// `libjson.so:parse`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// The same for the same code in all runs of one build; nothing else has it. Where only the name is
// known (of a log of another version) it is the name.
std::string identity_of(const Unit& unit);

// What the unit can be called, shortest first; the last tells it from every other.
std::vector<std::string> names_of(const Unit& unit);

// By one of them, or, a function, by its binary: BINARY:FUNCTION.
bool may_be_called(const Unit& unit, const std::string& name);

// The shortest of them that is not taken.
std::string free_name(const Unit& unit, const std::function<bool(const std::string&)>& taken);

// Which of these units, all different, `wanted` can mean: the one of this identity or, if there is
// none, those that may be called so.
std::vector<Unit> meant(const std::vector<Unit>& units, const std::string& wanted);

// What a line of a log says of a unit, which may leave out what it does not know.
void learn(Unit& known, const Unit& unit);

// Each run has named its units for itself, as it met them. Afterwards units of one name are one
// unit in all runs, and each unit has one name. REQUIRES: within a run they are and have.
void join_units(std::vector<Run>& runs);

}  // namespace causalctl::causal
