// Text from files and processes nobody vouches for, made fit for a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace causalctl {

// Control characters (which a terminal obeys) and broken UTF-8 become '?'.
std::string printable(std::string_view text);

// The same; line feeds stay, for messages of several lines.
std::string printable_lines(std::string_view text);

// To so many bytes at most, and no half characters of UTF-8.
std::string cut_to(std::string text, std::size_t size);

}  // namespace causalctl
