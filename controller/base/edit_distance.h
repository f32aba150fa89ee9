// Tells how near a word comes to another one, for hints at what was meant. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace causalctl {

// Returns the Levenshtein distance, or limit + 1 if it is larger, at cost O(limit * length).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace causalctl
