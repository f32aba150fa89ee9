// Finds the unit of the code at an address, without regard to its callers (Coz section 3.4.2).
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

// Returns nullopt if the code is out of scope. REQUIRES: there are frames only if the module is in
// scope.
std::optional<Unit> unit_of(const symbols::Location& location, const config::Scope& scope);

// Returns which of the location's frames a sample there is charged to. REQUIRES: unit_of() has a
// unit of it.
std::size_t charged_frame(const symbols::Location& location, const config::Scope& scope);

// Returns what a user would call the place of code out of scope: the directory of a library's
// files, with a '/' at its end, or the file name of the binary; empty for code in no file.
std::string place_of(const symbols::Location& location);

// Returns the function that holds the address, named by the file and line at which it begins;
// nullopt if it is not known.
std::optional<Unit> function_of(const symbols::Location& location);

// Returns the warning that functions are sped up because there are no lines. Throws UsageError if
// only lines were asked for and there are none at all, because no experiment could be made.
std::optional<std::string> missing_lines(const symbols::LineInformation& lines,
                                         const config::Scope& scope);

// Returns "no source file matches 'x.c'; nearest: y.c" for the patterns of --scope-file that match
// none of `files`, the paths of all source files of the binaries in scope. Returns an empty text if
// all match.
std::string unmatched_files(const config::Scope& scope, const std::set<std::string>& files,
                            std::size_t nearest);

}  // namespace causalctl::causal
