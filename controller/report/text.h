// Words for a terminal: names that may hold anything, cut to a width. Pure.
#pragma once

#include <string>
#include <string_view>

namespace causalctl::report {

// Names come from files nobody vouches for: control characters (which a terminal obeys) and broken
// UTF-8 become '?'.
std::string printable(std::string_view text);

// Columns that `text` takes, one for each code point. REQUIRES: printable.
std::size_t columns(std::string_view text);

// Cuts to `width` columns. Of a C++ name the template arguments and parameters go first, then the
// outer scopes: the last words say most.
std::string shortened(std::string_view name, std::size_t width);

std::string padded(std::string_view text, std::size_t width);  // left-aligned
std::string right_aligned(std::string_view text, std::size_t width);

// 1034221 → "1,034,221".
std::string grouped(unsigned long long number);

}  // namespace causalctl::report
