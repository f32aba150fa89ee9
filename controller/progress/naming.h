// How things of one name are told apart in messages. Pure.
#pragma once

#include <string>
#include <vector>

namespace causalctl::progress {

// For each path as many trailing components as no other of them ends in. REQUIRES: all different.
std::vector<std::string> shortest_unique_suffixes(const std::vector<std::string>& paths);

// "; nearest: a, b" or "" when there is none.
std::string nearest_clause(const std::vector<std::string>& names);

}  // namespace causalctl::progress
