// Tells things with the same name apart in messages. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/base/shell_quotes.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Returns for each path the fewest trailing components in which no other path ends. REQUIRES: all
// differ.
std::vector<std::string> shortest_unique_suffixes(const std::vector<std::string>& paths);

// `places` are those of a line in `file`, as the user names it. If one file has exactly this path,
// the places in other files are dropped. Returns what tells the remaining files apart; several mean
// that the name is ambiguous.
std::vector<std::string> files_meant(std::vector<unwind::Place>& places, const std::string& file);

// Returns those of the functions whose source is in `file`, as the user names it.
std::vector<unwind::Place> declared_in(const std::string& file,
                                       std::vector<unwind::Place> functions);
// Returns whether functions of one name and place are in different units of a binary: in different
// files of one path, as -ffile-prefix-map makes them, or in one file that was compiled twice.
bool are_in_several_units(const std::vector<unwind::Place>& functions);

// Returns "; nearest: a, b", or "" if there is none.
std::string nearest_clause(const std::vector<std::string>& names);

using causalctl::in_shell_quotes;
// Quotes names of functions for a shell, of which some have a remark in parentheses behind a blank
// ("f (inlined: …)", as Symbolizer::similar_functions() gives them), which stay as they are.
std::vector<std::string> in_shell_quotes(std::vector<std::string> names);

}  // namespace causalctl::progress
