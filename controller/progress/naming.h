// How things of one name are told apart in messages. Pure.
#pragma once

#include <string>
#include <vector>

#include "unwind/symbolizer.h"

namespace causalctl::progress {

// For each path as many trailing components as no other of them ends in. REQUIRES: all different.
std::vector<std::string> shortest_unique_suffixes(const std::vector<std::string>& paths);

// Of the places of a line in `file`, as the user names it: drops those in other files where one has
// just this path. Returns what tells apart the files that are left; several: the name is ambiguous.
std::vector<std::string> files_meant(std::vector<unwind::Place>& places, const std::string& file);

// "; nearest: a, b" or "" when there is none.
std::string nearest_clause(const std::vector<std::string>& names);

}  // namespace causalctl::progress
