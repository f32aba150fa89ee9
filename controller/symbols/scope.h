// Which code the user asks for (`--scope-binary`, `--scope-file`).
#pragma once

#include <set>
#include <string>

#include "config/config.h"
#include "controller/symbols/location.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::symbols {

// A name or a path as path_matches() takes it; "MAIN" is the executable.
bool module_matches(const unwind::Module& module, const std::string& glob);

bool module_in_scope(const unwind::Module& module, const config::Scope& scope);

// Without a pattern for files all are in scope but those of libraries (library_files.h): what a
// library does is charged to the line that called it. `module` is the path of the binary.
bool file_in_scope(const std::string& path, const config::Scope& scope,
                   const std::string& module = {});

Wanted wanted_by(config::Scope scope);  // the modules in scope

// Paths of all source files of the modules in scope. Reads all of their debug information.
std::set<std::string> files_in_scope(const config::Scope& scope, unwind::Symbolizer& symbolizer);

// Whether the patterns of --scope-binary match something that is loaded. A process that runs has
// nearly always loaded its libraries, so that nothing at all is a UsageError, before the attach is
// paid for; a program that is `suspended` at its entry may load more, and gets a note.
void check_scope(const config::Scope& scope, unwind::Symbolizer& symbolizer, bool suspended);

}  // namespace causalctl::symbols
