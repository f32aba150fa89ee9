// Names similar to a mistyped one, for error messages. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl::progress {

// At most `count` of `names`, nearest first. Distance is Levenshtein's, but a name that contains
// the wanted one is nearer than any that does not ("stat" → "newstat").
std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& names,
                                 std::size_t count);

// "; nearest: a, b" or "" when there is none.
std::string nearest_clause(const std::vector<std::string>& names);

}  // namespace causalctl::progress
