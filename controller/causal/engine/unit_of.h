// Which unit the code at an address belongs to by itself, without its callers (Coz section 3.4.2).
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "config/config.h"
#include "controller/causal/record/experiment.h"
#include "controller/symbols/async_symbolizer.h"
#include "controller/symbols/location.h"

namespace causalctl::causal {

// nullopt: out of scope. REQUIRES: frames only where the module is in scope.
std::optional<Unit> unit_of(const symbols::Location& location, const config::Scope& scope);

// The function that holds the address, by the file and the line at which it begins. nullopt: not
// known.
std::optional<Unit> function_of(const symbols::Location& location);

// The warning that functions are sped up for want of lines. Throws UsageError where only lines were
// asked for and there are none at all: no experiment could ever be made.
std::optional<std::string> missing_lines(const symbols::LineInformation& lines,
                                         const config::Scope& scope);

// "no source file matches 'x.c'; nearest: y.c": of the patterns of --scope-file that match none of
// `files`, the paths of all source files of the binaries in scope. Empty: there is none.
std::string unmatched_files(const config::Scope& scope, const std::set<std::string>& files,
                            std::size_t nearest);

}  // namespace causalctl::causal
